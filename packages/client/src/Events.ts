/** The events that the service posts to webhooks. They contain ids only: read the resource for its present state. */
import type {
  ConversationClosedEvent,
  MessageReceivedEvent,
  MessageSentEvent,
  MessageUpdatedEvent,
  SendFailedEvent
} from "./Contract.ts"

/** Any event. `type` is the discriminator. */
export type WebhookEvent =
  | MessageReceivedEvent
  | MessageSentEvent
  | MessageUpdatedEvent
  | SendFailedEvent
  | ConversationClosedEvent
