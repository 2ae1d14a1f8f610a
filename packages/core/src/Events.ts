/**
 * Events: what the service tells the subscribers of its webhooks (spec §6).
 *
 * An event is raised in the unit of work of the change that it reports, and its
 * bytes are fixed there, with one delivery for each webhook that subscribes to
 * it: so there is an event exactly when there was a change, and every attempt
 * carries the same bytes.
 */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import {
  ConversationId,
  EventId,
  Ids,
  MessageId,
  type OrganizationId,
  SendId,
  WebhookDeliveryId,
  type WebhookId,
  WorkId
} from "./Ids.ts"
import { FailureReason } from "./MessagingProvider.ts"
import { Timestamp } from "./Timestamps.ts"
import { WorkQueue } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

export const EventType = Schema.Literals([
  "message.received",
  "message.sent",
  "message.updated",
  "send.failed",
  "conversation.closed"
])
export type EventType = typeof EventType.Type

const event = <const Type extends EventType, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    id: EventId.pipe(
      Schema.annotateEncoded({ description: "The same on every attempt: remember it, to handle it once." })
    ),
    type: Schema.Literal(type),
    timestamp: Timestamp.pipe(Schema.annotateEncoded({ description: "When it happened." })),
    data: Schema.Struct({ conversation_id: ConversationId, ...fields })
  })

export const MessageReceived = event("message.received", { message_id: MessageId }).annotate({
  identifier: "MessageReceivedEvent",
  description: "A contact wrote."
})

export const MessageSent = event("message.sent", { message_id: MessageId }).annotate({
  identifier: "MessageSentEvent",
  description: "The messaging provider took an outbound message."
})

export const MessageUpdated = event("message.updated", {
  message_id: MessageId,
  status: Schema.Literals(["delivered", "read", "failed", "edited", "deleted"])
}).annotate({
  identifier: "MessageUpdatedEvent",
  description: "A message got further, or was changed by its author; `status` says which."
})

export const SendFailed = event("send.failed", { send_id: SendId, failure_reason: FailureReason }).annotate({
  identifier: "SendFailedEvent",
  description: "A send ended without becoming a message."
})

export const ConversationClosed = event("conversation.closed", {}).annotate({
  identifier: "ConversationClosedEvent",
  description: "A conversation was closed."
})

/** Schema for what is posted: thin, so that a subscriber reads the resource as it is now. */
export const Event = Schema.Union([MessageReceived, MessageSent, MessageUpdated, SendFailed, ConversationClosed])
export type Event = typeof Event.Type

/** What happened, before it has an id and a time. */
export type Occurrence = Event extends infer E ? E extends Event ? Pick<E, "type" | "data"> : never : never

/** An event as it is stored: its exact bytes beside what it is found by. */
export interface EventRow {
  readonly id: EventId
  readonly type: EventType
  readonly body: string
  readonly created_at: Timestamp
}

const encode = Schema.encodeEffect(Schema.fromJsonString(Event))

// ---------------------------------------------------------------- port

/**
 * Port: where events are kept, with their deliveries.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `subscribers` returns the organization's active webhooks that subscribe to
 *   the type, by id.
 * - `append` keeps an event with one pending delivery for each given webhook,
 *   due when the event was made.
 * - `purge` forgets at most `limit` events made before a moment, with their
 *   deliveries, and answers how many.
 */
export class EventStore extends Context.Service<EventStore, {
  readonly subscribers: (organization_id: OrganizationId, type: EventType) => Effect.Effect<ReadonlyArray<WebhookId>>
  readonly append: (
    organization_id: OrganizationId,
    event: EventRow,
    deliveries: ReadonlyArray<{ readonly id: WebhookDeliveryId; readonly webhook_id: WebhookId }>
  ) => Effect.Effect<void>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Events/EventStore") {}

// ---------------------------------------------------------- operations

export class Events extends Context.Service<Events, {
  /**
   * Keeps an event and queues its deliveries. Joins the caller's unit of work.
   * An event that nobody subscribes to is not kept.
   */
  readonly raise: (organization_id: OrganizationId, occurrence: Occurrence) => Effect.Effect<void>
}>()("@messaging-crm/core/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* EventStore
      const work = yield* WorkQueue

      const raise = Effect.fn("Events.raise")(function*(organization_id: OrganizationId, occurrence: Occurrence) {
        const webhooks = yield* store.subscribers(organization_id, occurrence.type)
        if (webhooks.length === 0) return
        const now = yield* DateTime.now
        const { data, type } = occurrence
        const id = EventId.make(yield* ids.uuid)
        // Each case of the union keeps its own data, which the compiler loses when the parts are put together again.
        const body = yield* Effect.orDie(encode({ id, type, timestamp: now, data } as Event))
        const deliveries = yield* Effect.forEach(
          webhooks,
          (webhook_id) => Effect.map(ids.uuid, (uuid) => ({ id: WebhookDeliveryId.make(uuid), webhook_id }))
        )
        yield* store.append(organization_id, { id, type, body, created_at: now }, deliveries)
        for (const { id: ref, webhook_id } of deliveries) {
          const work_id = WorkId.make(yield* ids.uuid)
          yield* work.enqueue(organization_id, { id: work_id, kind: "delivery", lane: webhook_id, ref }, now)
        }
      })

      return Events.of({ raise })
    })
  )
}
