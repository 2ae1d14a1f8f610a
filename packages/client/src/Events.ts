/** What the service posts to a webhook. Events are thin: read the resource for how it is now. */
import type {
  ConversationClosedEvent,
  MessageReceivedEvent,
  MessageSentEvent,
  MessageUpdatedEvent,
  SendFailedEvent
} from "./Contract.ts"

/** Any event, told apart by its `type`. */
export type WebhookEvent =
  | MessageReceivedEvent
  | MessageSentEvent
  | MessageUpdatedEvent
  | SendFailedEvent
  | ConversationClosedEvent
