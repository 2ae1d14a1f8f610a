/**
 * Events: what the service posts to webhooks (contract §13).
 *
 * An event is one of the changes of the operation that it reports, so it exists
 * exactly when that operation is committed. Its bytes are fixed there, and every
 * attempt posts the same bytes. The commit adds one delivery for each active
 * webhook that subscribes to it.
 */
import { Context, type Effect, Schema } from "effect"
import { FailureReason } from "../kernel/FailureReason.ts"
import { ConversationId, EventId, MessageId, SendId } from "../kernel/Ids.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { RaisedEvent } from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"

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
      Schema.annotateEncoded({
        description: "Unique per event and identical on every attempt. Use it to discard duplicates."
      })
    ),
    type: Schema.Literal(type),
    timestamp: Timestamp.pipe(Schema.annotateEncoded({ description: "Time of the change." })),
    data: Schema.Struct({ conversation_id: ConversationId, ...fields })
  })

export const MessageReceived = event("message.received", { message_id: MessageId }).annotate({
  identifier: "MessageReceivedEvent",
  description: "A contact sent a message."
})

export const MessageSent = event("message.sent", { message_id: MessageId }).annotate({
  identifier: "MessageSentEvent",
  description: "The messaging provider accepted an outbound message."
})

export const MessageUpdated = event("message.updated", {
  message_id: MessageId,
  status: Schema.Literals(["delivered", "read", "failed", "edited", "deleted"])
}).annotate({
  identifier: "MessageUpdatedEvent",
  description: "A message was delivered, read, edited, or deleted, or it failed. `status` identifies the change."
})

export const SendFailed = event("send.failed", { send_id: SendId, failure_reason: FailureReason }).annotate({
  identifier: "SendFailedEvent",
  description: "A send ended without becoming a message."
})

export const ConversationClosed = event("conversation.closed", {}).annotate({
  identifier: "ConversationClosedEvent",
  description: "A conversation was closed."
})

/** Schema for a posted event. It holds ids and no content, so that subscribers read the current state of the resource. */
export const Event = Schema.Union([MessageReceived, MessageSent, MessageUpdated, SendFailed, ConversationClosed])
export type Event = typeof Event.Type

const encode = Schema.encodeSync(Schema.fromJsonString(Event))

// ----------------------------------------------------------- decisions

/** Makes an event with a new id, the current time and its encoded bytes. */
export const make = <const Type extends EventType>(
  type: Type,
  data: Extract<Event, { readonly type: Type }>["data"],
  { now, uuid }: DecisionContext
): RaisedEvent => {
  const id = EventId.make(uuid())
  // The type parameter ties `type` to `data`, which the compiler cannot see in the combined object.
  const body = encode({ id, type, timestamp: now, data } as Event)
  return { id, type, body, created_at: now }
}

// ---------------------------------------------------------------- port

/**
 * Port: purges events. Commits write them.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `purge` deletes at most `limit` events older than `before`, with their
 *   deliveries, and returns the number of events.
 */
export class EventStore extends Context.Service<EventStore, {
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Events/EventStore") {}
