/** What the service posts to a webhook. Events are thin: read the resource for how it is now. */
import type { Send } from "./Contract.ts"

interface EventOf<Type extends string, Data> {
  /** The same in every attempt to deliver the event: what to remember to handle it once. */
  readonly id: string
  readonly type: Type
  /** When it happened. */
  readonly timestamp: string
  readonly data: { readonly conversation_id: string } & Data
}

/** A contact wrote. */
export type MessageReceivedEvent = EventOf<"message.received", { readonly message_id: string }>

/** The provider took an outbound message. */
export type MessageSentEvent = EventOf<"message.sent", { readonly message_id: string }>

/** A message got further, or was changed by its author. */
export type MessageUpdatedEvent = EventOf<"message.updated", {
  readonly message_id: string
  readonly status: "delivered" | "read" | "failed" | "edited" | "deleted"
}>

/** A send ended without becoming a message. */
export type SendFailedEvent = EventOf<"send.failed", {
  readonly send_id: string
  readonly failure_reason: NonNullable<Send["failure_reason"]>
}>

/** A conversation was closed. */
export type ConversationClosedEvent = EventOf<"conversation.closed", unknown>

/** Any event, told apart by its `type`. */
export type WebhookEvent =
  | MessageReceivedEvent
  | MessageSentEvent
  | MessageUpdatedEvent
  | SendFailedEvent
  | ConversationClosedEvent
