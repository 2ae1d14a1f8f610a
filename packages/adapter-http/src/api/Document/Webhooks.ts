/** The events that the service posts, as the document's `webhooks`. */
import {
  ConversationClosed,
  MessageReceived,
  MessageSent,
  MessageUpdated,
  SendFailed
} from "@messaging-crm/core/Events"
import * as Examples from "../Examples.ts"

const header = (name: string, description: string, example: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example
})

const parameters = [
  header(
    "webhook-id",
    "The event's `id`, the same on every attempt. Skip an event that you have had.",
    Examples.event_id
  ),
  header(
    "webhook-timestamp",
    "When the attempt was made, in Unix seconds. Refuse one of five minutes ago.",
    "1795168800"
  ),
  header(
    "webhook-signature",
    "`v1,` and the HMAC-SHA256, in base64, of id, timestamp and body, joined by full stops. Libraries for Standard Webhooks check it, given the webhook's `signing_secret`.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
  )
]

const responses = {
  "2XX": { description: "Taken. It counts within 15 seconds; what is answered does not." },
  410: { description: "No more of it: the webhook is disabled." },
  default: { description: "Not taken. The same event is posted again, ten times in all within 76 hours." }
}

const operation = (name: string, summary: string, example: unknown) => ({
  post: {
    operationId: name,
    summary,
    description: "Answer at once, and work on it afterwards: events come in any order, and now and then twice.",
    tags: ["Webhooks"],
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${name}` },
          examples: { event: { value: example } }
        }
      }
    },
    responses
  }
})

/** The schemas of what is posted. */
export const events = [MessageReceived, MessageSent, MessageUpdated, SendFailed, ConversationClosed] as const

/** What is posted, by the name of the event. */
export const webhooks = {
  "message.received": operation("MessageReceivedEvent", "A contact wrote", Examples.messageReceived),
  "message.sent": operation("MessageSentEvent", "The provider took a message", Examples.messageSent),
  "message.updated": operation("MessageUpdatedEvent", "A message got further", Examples.messageUpdated),
  "send.failed": operation("SendFailedEvent", "A send failed", Examples.sendFailed),
  "conversation.closed": operation("ConversationClosedEvent", "A conversation was closed", Examples.conversationClosed)
}
