/**
 * Events: the changes that the service reports in a list and to webhooks (contract §13).
 *
 * An event is one of the changes of the operation that it reports, so it exists
 * if and only if that operation is committed. Its bytes are fixed there, and every
 * attempt posts the same bytes. The commit adds one item of work for the event, from which a worker adds a delivery for
 * each active webhook that subscribes to it. Every event is kept for 30 days, even without a delivery.
 */
import { Context, DateTime, Effect, Layer, type Option, Schema, String } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { decoder } from "../kernel/Codecs.ts"
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
import { purgeOlderThan } from "../kernel/Loops.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type ListOptions,
  type Page,
  type PageRequest,
  type Position,
  withoutStop
} from "../kernel/Page.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import { event_age_max, type EventResource, type RaisedEvent } from "../work/Changes.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"

// ---------------------------------------------------------------- data

/** The resources that an event can contain, by their names in its `data`. */
export type EventResourceName = "contact" | "conversation" | "message"

const nameOf = (type: string): string => `${type.split(".").map(String.capitalize).join("")}Event`

/** The conversation of an event that may have none, as every event has the field. */
type EventConversation = Schema.Codec<ConversationId | null, string | null>

/**
 * Declares a type of event: its description, its conversation, the other fields of its `data`, and the resource that webhooks
 * can request with it.
 */
const declare = <
  const Type extends string,
  Conversation extends EventConversation,
  Fields extends Schema.Struct.Fields,
  Resource extends EventResourceName | null
>(
  type: Type,
  { conversation_id, data, description, resource }: {
    readonly description: string
    readonly conversation_id: Conversation
    readonly data: Fields
    readonly resource: Resource
  }
) => ({
  type,
  /** The name of the schema in the OpenAPI document. */
  name: nameOf(type),
  description,
  resource,
  schema: Schema.Struct({
    id: EventId.pipe(
      Schema.annotateEncoded({
        description: "Unique per event and identical on every attempt. Use it to discard duplicates."
      })
    ),
    type: Schema.Literal(type),
    timestamp: Timestamp.pipe(Schema.annotateEncoded({ description: "Time of the change." })),
    data: Schema.Struct({ conversation_id, ...data })
  }).annotate({ identifier: nameOf(type), description })
})

const of_conversation = { conversation_id: ConversationId }
const of_message = { ...of_conversation, data: { message_id: MessageId } }
const of_contact = {
  conversation_id: Schema.NullOr(ConversationId).annotate({
    description: "The contact's last conversation; null if it has none."
  })
}
const of_webhook = {
  conversation_id: Schema.Null.annotate({ description: "Null, because the event is about no conversation." })
}

/** Every type of event. Their order is that of lists of types, and of the unions in the OpenAPI document. */
export const declarations = [
  declare("message.received", {
    description: "A contact sent a message.",
    ...of_message,
    resource: "message"
  }),
  declare("message.sent", {
    description:
      "The messaging provider accepted an outbound message, or someone in the organization wrote one in the network's own app, such as the WhatsApp Business app.",
    ...of_message,
    resource: "message"
  }),
  declare("message.updated", {
    description: "A message was delivered, read, edited, or deleted, or it failed. `status` identifies the change.",
    ...of_conversation,
    data: {
      message_id: MessageId,
      status: Schema.Literals(["delivered", "read", "failed", "edited", "deleted"])
    },
    resource: "message"
  }),
  declare("send.failed", {
    description: "A send ended without becoming a message.",
    ...of_conversation,
    data: { send_id: SendId, failure_reason: FailureReason },
    resource: null
  }),
  declare("conversation.closed", {
    description: "A conversation was closed.",
    ...of_conversation,
    data: {},
    resource: "conversation"
  }),
  declare("conversation.opened", {
    description: "A conversation was created, or a closed one was reopened.",
    ...of_conversation,
    data: {},
    resource: "conversation"
  }),
  declare("conversation.assigned", {
    description: "A conversation was assigned to a member, or unassigned.",
    ...of_conversation,
    data: { assigned_user_id: Schema.NullOr(MemberId) },
    resource: "conversation"
  }),
  declare("contact.created", {
    description: "A contact was created. Imports without `--update` do not raise this event.",
    ...of_contact,
    data: { contact_id: ContactId },
    resource: "contact"
  }),
  declare("contact.updated", {
    description: "Fields of a contact changed. `changed_fields` names them.",
    ...of_contact,
    data: {
      contact_id: ContactId,
      changed_fields: Schema.Array(Schema.String).annotate({ description: "Names of fields of the contact." })
    },
    resource: "contact"
  }),
  declare("webhook.disabled", {
    description: "Another webhook was disabled.",
    ...of_webhook,
    data: {
      webhook_id: WebhookId,
      reason: Schema.Literals(["request", "gone", "failing"]).annotate({
        description: "A request disabled it, its endpoint responded with 410, or it had no success for five days."
      })
    },
    resource: null
  }),
  declare("webhook.test", {
    description: "A client tested the webhook.",
    ...of_webhook,
    data: { webhook_id: WebhookId },
    resource: null
  })
] as const

type Declaration = (typeof declarations)[number]

/** The types of all events: those that a webhook can subscribe to, and `webhook.test`. */
export const AnyEventType = Schema.Literals(declarations.map(({ type }) => type))
export type AnyEventType = typeof AnyEventType.Type

/** The types of events that webhooks subscribe to. */
export const EventType = Schema.Literals(AnyEventType.literals.filter((type) => type !== "webhook.test"))
export type EventType = typeof EventType.Type

/** Schema for an event without its resource: it holds IDs and no content. */
export const Event = Schema.Union(declarations.map(({ schema }) => schema)).annotate({
  identifier: "Event",
  description: "A change, with the IDs of the changed resources."
})
export type Event = typeof Event.Type

/** The event of a type. */
export type EventOf<Type extends AnyEventType> = Extract<Event, { readonly type: Type }>

const decodeEvent = decoder(Event)

/** An event with its bytes, without the resource. */
export type ListedEvent = Omit<RaisedEvent, "resource">

/**
 * The position of an event in the order of commits: the commit that stored it, and its ID, as several events can have one
 * commit. Only the store compares the names of commits.
 */
export interface CommitPosition {
  readonly commit: string
  readonly id: EventId
}

/** An event with the commit that stored it. */
export interface CommittedEvent extends ListedEvent, CommitPosition {}

/** An event as it is stored. `full_body` contains its bytes with the resource; null if no resource is stored. */
export interface StoredEvent extends ListedEvent {
  readonly full_body: string | null
}

/** The resource that an event is about, as the change leaves it. */
export interface NamedResource<Name extends EventResourceName> extends EventResource {
  readonly name: Name
}

/** The name of the resource that events of a type contain, or `never`. */
type ResourceNameOf<Type extends AnyEventType> = Extract<
  Extract<Declaration, { readonly type: Type }>["resource"],
  EventResourceName
>

/** The filters of the list. A filter that is null does not filter (contract §13.4). */
export interface EventFilters {
  readonly type: AnyEventType | null
  readonly since: Timestamp | null
}

/** The filters that every event passes. */
const everyEvent: EventFilters = { type: null, since: null }

// -------------------------------------------------------------- errors

/** No event of the organization has this ID, or it is older than 30 days. */
export class EventNotFound extends Schema.TaggedError<EventNotFound>()("EventNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Makes an event with a new ID, the current time and its encoded bytes. */
export const make = <const Type extends AnyEventType>(
  type: Type,
  data: EventOf<Type>["data"],
  { now, uuid }: DecisionContext,
  resource: NamedResource<ResourceNameOf<Type>> | null = null
): RaisedEvent => {
  const id = EventId.make(uuid())
  const { conversation_id, ...rest } = data
  // The conversation is the first field of `data` in the bytes of every event.
  const body = JSON.stringify({
    id,
    type,
    timestamp: DateTime.formatIso(now),
    data: { conversation_id, ...rest }
  })
  return { id, type, body, created_at: now, resource }
}

/** Decodes the bytes of an event. */
export const toListed = ({ body }: ListedEvent): Event => decodeEvent(JSON.parse(body))

/** Returns the bytes of an event that a webhook gets. */
export const bodyFor = (
  { include_resource }: { readonly include_resource: boolean },
  { body, full_body }: Pick<StoredEvent, "body" | "full_body">
): string => include_resource ? full_body ?? body : body

// ---------------------------------------------------------------- port

/**
 * Port: reads and purges events. Commits write them.
 *
 * **Contract** (checked by `conformance/Ports/Events.ts`)
 *
 * - `find` returns the organization's event with an ID, if it is stored.
 * - `list` returns the organization's events of the types that were raised at
 *   `since` or later, ordered by time descending, then by ID descending: at most
 *   `size`, after the position. It reads few more rows than it returns, whatever
 *   is stored, and no resources: a page of them can have many megabytes.
 * - `next` returns those raised before `until`, with their resources, in the opposite
 *   order: at most `size`, after the position.
 * - `committed` returns the organization's events in one order, at most `size`, from the
 *   given position, whose event is the first of them if it is still stored. Later calls add
 *   events only at the end: an event whose commit is still in progress is not returned, nor
 *   any that could be ordered after it. An event of a commit that began after another commit
 *   had ended is ordered after the events of that one. No page contains resources.
 * - `haveNext` returns for each position whether `committed` would return an event after it.
 * - `lastCommitted` returns the last event of that order.
 * - `purge` deletes at most `limit` events older than `before`, the oldest first,
 *   with their deliveries, and returns the number of events.
 */
export class EventStore extends Context.Service<EventStore, {
  readonly find: (organization_id: OrganizationId, id: EventId) => Effect.Effect<Option.Option<ListedEvent>>
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
  readonly committed: (
    organization_id: OrganizationId,
    page: { readonly from: CommitPosition; readonly size: number }
  ) => Effect.Effect<ReadonlyArray<CommittedEvent>>
  readonly haveNext: (
    positions: ReadonlyArray<CommitPosition & { readonly organization_id: OrganizationId }>
  ) => Effect.Effect<ReadonlyArray<boolean>>
  readonly lastCommitted: (organization_id: OrganizationId) => Effect.Effect<Option.Option<CommittedEvent>>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Events/EventStore") {}

// ---------------------------------------------------------- operations

/** The changes that add the deliveries of a claimed event. Another worker that claims it later adds none again. */
const expandClaimed = (claimed: ClaimedWork): Changes.Changes =>
  Changes.all(Changes.expand(EventId.make(claimed.ref)), Changes.finish(claimed))

/** Makes the function that expands a claimed event. An event is never dropped, because its webhooks would miss it. */
export const makeExpand = Effect.map(
  Decide,
  ({ settle }) =>
    traced("Events.expand")(function*(claimed: ClaimedWork) {
      yield* settle(claimed, { load: Effect.void, decide: () => ({ result: null, changes: expandClaimed(claimed) }) })
    })
)

/** Operations on events: the list and the single event are of the current actor's organization, the purge of all. */
export class Events extends Context.Service<Events, {
  /** Returns an event of the last 30 days. */
  readonly get: (id: EventId) => Effect.Effect<Event, EventNotFound, CurrentActor>
  /** Returns one page of the events of the last 30 days that pass the filters, newest first. */
  readonly list: (
    options: ListOptions<EventFilters>
  ) => Effect.Effect<Page<Event>, CursorInvalid, CurrentActor>
  /** Deletes one batch of events older than 30 days, with their deliveries, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const store = yield* EventStore

      const get = operation("events.get")(function*(id: EventId) {
        const { organization_id } = yield* CurrentActor
        return toListed(yield* Effect.fromOption(yield* store.find(organization_id, id), () => new EventNotFound()))
      })

      const list = operation("events.list")(function*({ cursor, page_size, ...given }: ListOptions<EventFilters>) {
        const { organization_id } = yield* CurrentActor
        const filters = { ...everyEvent, ...given }
        const { since, type } = filters
        const types = type === null ? AnyEventType.literals : [type]
        const page = yield* cursors.page({
          list: "events",
          filters: { type, since: since === null ? null : since.epochMilliseconds },
          cursor,
          size: page_size,
          fetch: (request) => Effect.map(store.list(organization_id, { types, since }, request), withoutStop),
          position: ({ created_at: at, id }) => ({ at, id })
        })
        return { ...page, data: page.data.map(toListed) }
      })

      return Events.of({ get, list, purge: purgeOlderThan(event_age_max, store.purge, 1000) })
    })
  )
}
