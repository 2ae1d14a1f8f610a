/** Examples of events, one of each type. They continue the story of `Examples.ts`. */
import type * as Events from "@messaging-crm/core/Events"
import * as Examples from "./Examples.ts"

const event = { id: Examples.event_id, timestamp: "2026-11-20T10:00:00.000Z" }
const of_message = { conversation_id: Examples.ids.conversation_id, message_id: Examples.ids.message_id }

export const messageReceived: typeof Events.MessageReceived.Encoded = {
  ...event,
  type: "message.received",
  data: { ...of_message, message_id: Examples.inboundMessage.id }
}

export const messageSent: typeof Events.MessageSent.Encoded = { ...event, type: "message.sent", data: of_message }

export const messageUpdated: typeof Events.MessageUpdated.Encoded = {
  ...event,
  type: "message.updated",
  data: { ...of_message, status: "delivered" }
}

export const sendFailed: typeof Events.SendFailed.Encoded = {
  ...event,
  type: "send.failed",
  data: {
    conversation_id: Examples.ids.conversation_id,
    send_id: Examples.ids.send_id,
    failure_reason: "recipient_unreachable"
  }
}

export const conversationOpened: typeof Events.ConversationOpened.Encoded = {
  ...event,
  type: "conversation.opened",
  data: { conversation_id: Examples.ids.conversation_id }
}

export const conversationAssigned: typeof Events.ConversationAssigned.Encoded = {
  ...event,
  type: "conversation.assigned",
  data: { conversation_id: Examples.ids.conversation_id, assigned_user_id: Examples.ids.assigned_user_id }
}

export const contactCreated: typeof Events.ContactCreated.Encoded = {
  ...event,
  type: "contact.created",
  data: { contact_id: Examples.ids.contact_id }
}

export const contactUpdated: typeof Events.ContactUpdated.Encoded = {
  ...event,
  type: "contact.updated",
  data: { contact_id: Examples.ids.contact_id, changed_fields: ["company", "tags"] }
}

export const webhookDisabled: typeof Events.WebhookDisabled.Encoded = {
  ...event,
  type: "webhook.disabled",
  data: { webhook_id: Examples.ids.webhook_id, reason: "gone" }
}

export const webhookTest: typeof Events.WebhookTest.Encoded = {
  ...event,
  type: "webhook.test",
  data: { webhook_id: Examples.ids.webhook_id }
}

export const conversationClosed: typeof Events.ConversationClosed.Encoded = {
  ...event,
  type: "conversation.closed",
  data: { conversation_id: Examples.ids.conversation_id }
}
