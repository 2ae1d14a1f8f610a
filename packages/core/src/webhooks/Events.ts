/**
 * Events: what the service tells of changes, in a list and to webhooks (contract §13).
 *
 * An event is one of the changes of the operation that it reports, so it exists
 * exactly when that operation is committed. Its bytes are fixed there, and every
 * attempt posts the same bytes. The commit adds one delivery for each active
 * webhook that subscribes to it. Every event is kept for 30 days, also without one.
 */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { Codecs } from "../kernel/Codecs.ts"
import { FailureReason } from "../kernel/FailureReason.ts"
import {
  ContactId,
  ConversationId,
  EventId,
  MemberId,
  MessageId,
  type OrganizationId,
  SendId,
  WebhookId
} from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest, type Position } from "../kernel/Page.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { EventResource, RaisedEvent } from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"

// ---------------------------------------------------------------- data

export const EventType = Schema.Literals([
  "message.received",
  "message.sent",
  "message.updated",
  "send.failed",
  "conversation.closed",
  "conversation.opened",
  "conversation.assigned",
  "contact.created",
  "contact.updated",
  "webhook.disabled"
])
export type EventType = typeof EventType.Type

/** The types of all events: those that webhooks subscribe to, and the event of a test. */
export const AnyEventType = Schema.Literals([...EventType.literals, "webhook.test"])
export type AnyEventType = typeof AnyEventType.Type

const event = <const Type extends AnyEventType, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    id: EventId.pipe(
      Schema.annotateEncoded({
        description: "Unique per event and identical on every attempt. Use it to discard duplicates."
      })
    ),
    type: Schema.Literal(type),
    timestamp: Timestamp.pipe(Schema.annotateEncoded({ description: "Time of the change." })),
    data: Schema.Struct(fields)
  })

const of_conversation = { conversation_id: ConversationId }
const of_message = { ...of_conversation, message_id: MessageId }

export const MessageReceived = event("message.received", of_message).annotate({
  identifier: "MessageReceivedEvent",
  description: "A contact sent a message."
})

export const MessageSent = event("message.sent", of_message).annotate({
  identifier: "MessageSentEvent",
  description: "The messaging provider accepted an outbound message."
})

export const MessageUpdated = event("message.updated", {
  ...of_message,
  status: Schema.Literals(["delivered", "read", "failed", "edited", "deleted"])
}).annotate({
  identifier: "MessageUpdatedEvent",
  description: "A message was delivered, read, edited, or deleted, or it failed. `status` identifies the change."
})

export const SendFailed = event("send.failed", {
  ...of_conversation,
  send_id: SendId,
  failure_reason: FailureReason
}).annotate({
  identifier: "SendFailedEvent",
  description: "A send ended without becoming a message."
})

export const ConversationClosed = event("conversation.closed", of_conversation).annotate({
  identifier: "ConversationClosedEvent",
  description: "A conversation was closed."
})

export const ConversationOpened = event("conversation.opened", of_conversation).annotate({
  identifier: "ConversationOpenedEvent",
  description: "A conversation was created, or a closed one was reopened."
})

export const ConversationAssigned = event("conversation.assigned", {
  ...of_conversation,
  assigned_user_id: Schema.NullOr(MemberId)
}).annotate({
  identifier: "ConversationAssignedEvent",
  description: "A conversation was assigned to another member, or to none."
})

export const ContactCreated = event("contact.created", { contact_id: ContactId }).annotate({
  identifier: "ContactCreatedEvent",
  description: "A contact was created, except by an import."
})

export const ContactUpdated = event("contact.updated", {
  contact_id: ContactId,
  changed_fields: Schema.Array(Schema.String).annotate({ description: "Names of fields of the contact." })
}).annotate({
  identifier: "ContactUpdatedEvent",
  description: "Fields of a contact changed. `changed_fields` names them."
})

export const WebhookDisabled = event("webhook.disabled", {
  webhook_id: WebhookId,
  reason: Schema.Literals(["request", "gone", "failing"]).annotate({
    description: "A request disabled it, its endpoint responded with 410, or it had no success for five days."
  })
}).annotate({ identifier: "WebhookDisabledEvent", description: "Another webhook was disabled." })

export const WebhookTest = event("webhook.test", { webhook_id: WebhookId }).annotate({
  identifier: "WebhookTestEvent",
  description: "A request tests the webhook."
})

/** Schema for an event without its resource: it holds ids and no content. */
export const Event = Schema.Union([
  MessageReceived,
  MessageSent,
  MessageUpdated,
  SendFailed,
  ConversationClosed,
  ConversationOpened,
  ConversationAssigned,
  ContactCreated,
  ContactUpdated,
  WebhookDisabled,
  WebhookTest
]).annotate({
  identifier: "Event",
  description: "What happened, with the ids of what changed."
})
export type Event = typeof Event.Type

const Body = Schema.fromJsonString(Event)

/** An event with its bytes, without the resource. */
export type ListedEvent = Omit<RaisedEvent, "resource">

/** An event as it is stored. `full_body` are its bytes with the resource; null where none is stored. */
export interface StoredEvent extends ListedEvent {
  readonly full_body: string | null
}

/** The resource that an event is about, as the change leaves it. */
export interface Subject extends Omit<EventResource, "body"> {
  readonly name: "contact" | "conversation" | "message"
  /** The resource as callers see it. Its times become text as `Timestamp` encodes them. */
  readonly resource: object
}

/** The filters of the list. A filter that is null does not filter (contract §13.4). */
export interface EventFilters {
  readonly type: AnyEventType | null
  readonly since: Timestamp | null
}

// ----------------------------------------------------------- decisions

/** Adds a resource to the bytes of an event, which end with `data`. */
const withResource = (body: string, { contact_id, message_id, name, resource }: Subject): EventResource => ({
  body: `${body.slice(0, -"}}".length)},"${name}":${JSON.stringify(resource)}}}`,
  contact_id,
  message_id
})

/** Makes an event with a new id, the current time and its encoded bytes. */
export const make = <const Type extends AnyEventType>(
  type: Type,
  data: Extract<Event, { readonly type: Type }>["data"],
  { now, uuid }: DecisionContext,
  subject: Subject | null = null
): RaisedEvent => {
  const id = EventId.make(uuid())
  const body = JSON.stringify({ id, type, timestamp: DateTime.formatIso(now), data })
  return { id, type, body, created_at: now, resource: subject === null ? null : withResource(body, subject) }
}

/** Returns the bytes of an event that a webhook gets. */
export const bodyFor = (
  { include_resource }: { readonly include_resource: boolean },
  { body, full_body }: Pick<StoredEvent, "body" | "full_body">
): string => include_resource ? full_body ?? body : body

// ---------------------------------------------------------------- port

/**
 * Port: reads and purges events. Commits write them.
 *
 * **Contract** (checked by `conformance/Events.ts`)
 *
 * - `list` returns the organization's events of the types that were raised at
 *   `since` or later, ordered by time descending, then by id descending: at most
 *   `size`, after the position. It reads few more rows than it returns, whatever
 *   is stored, and no resources: a page of them can have many megabytes.
 * - `next` returns those raised before `until`, with their resources, in the opposite
 *   order: at most `size`, after the position.
 * - `purge` deletes at most `limit` events older than `before`, with their
 *   deliveries, and returns the number of events.
 */
export class EventStore extends Context.Service<EventStore, {
  readonly list: (
    organization_id: OrganizationId,
    filters: { readonly types: ReadonlyArray<AnyEventType>; readonly since: Timestamp | null },
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<ListedEvent>>
  readonly next: (
    organization_id: OrganizationId,
    filters: { readonly types: ReadonlyArray<AnyEventType>; readonly until: Timestamp },
    page: { readonly after: Position; readonly size: number }
  ) => Effect.Effect<ReadonlyArray<StoredEvent>>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Events/EventStore") {}

// ---------------------------------------------------------- operations

/** Operations on the events of the current actor's organization. */
export class Events extends Context.Service<Events, {
  /** Returns one page of the events of the last 30 days that pass the filters, newest first. */
  readonly list: (
    options: EventFilters & { readonly cursor: string | null; readonly page_size: number }
  ) => Effect.Effect<Page<Event>, CursorInvalid, CurrentActor>
}>()("@messaging-crm/core/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const { decode } = yield* Codecs
      const store = yield* EventStore

      const list = operation("events.list")(function*(
        { cursor, page_size, since, type }: Parameters<Events["Service"]["list"]>[0]
      ) {
        const { organization_id } = yield* CurrentActor
        const types = type === null ? AnyEventType.literals : [type]
        const page = yield* cursors.page({
          list: "events",
          filters: { type, since: since === null ? null : since.epochMilliseconds },
          cursor,
          size: page_size,
          fetch: (request: PageRequest) => store.list(organization_id, { types, since }, request),
          position: ({ created_at: at, id }) => ({ at, id })
        })
        // The service has written every body.
        const data = yield* Effect.forEach(page.data, ({ body }) => decode(Body)(body))
        return { ...page, data }
      })

      return Events.of({ list })
    })
  )
}
