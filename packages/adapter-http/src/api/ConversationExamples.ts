/** Examples of conversations, messages, and sends. They continue the story of `Examples.ts`. */
import type { AssignConversation, CloseConversation, Conversation } from "@messaging-crm/core/Conversations"
import type { Message } from "@messaging-crm/core/Messages"
import type { Send, SendMessage, StartConversation } from "@messaging-crm/core/Sends"
import type { TemplateChoice } from "@messaging-crm/core/Templates"
import { ids, phone } from "./Examples.ts"

const { channel_id, template_id } = ids

export const conversation: typeof Conversation.Encoded = {
  id: ids.conversation_id,
  channel: { id: channel_id, type: "phone_messaging" },
  contact: { id: ids.contact_id, display_name: "Kim Berg", external_id: phone, username: null },
  status: "open",
  close_category: null,
  assigned_user_id: ids.assigned_user_id,
  agent_id: null,
  created_at: "2026-11-20T09:58:00.000Z",
  opened_at: "2026-11-20T09:58:00.000Z",
  closed_at: null,
  last_activity_at: "2026-11-20T10:00:00.000Z",
  last_activity_preview: "Hello Kim, your order 4711 is ready.",
  reply_window_expires_at: "2026-11-21T09:58:00.000Z"
}

export const closedConversation: typeof Conversation.Encoded = {
  ...conversation,
  status: "closed",
  close_category: "resolved",
  closed_at: "2026-11-20T10:05:00.000Z"
}

const choice: typeof TemplateChoice.Encoded = {
  id: template_id,
  components: [
    { type: "header", parameters: [{ type: "text", text: "4711" }] },
    { type: "body", parameters: [{ type: "text", text: "Kim" }, { type: "text", text: "4711" }] },
    { type: "button", sub_type: "url", index: 0, parameters: [{ type: "text", text: "4711" }] }
  ]
}

export const startConversation: typeof StartConversation.Encoded = {
  channel_id,
  phone: "+49 151 12345678",
  template: choice
}

export const assignConversation: typeof AssignConversation.Encoded = { assigned_user_id: ids.assigned_user_id }

export const unassignConversation: typeof AssignConversation.Encoded = {
  assigned_user_id: null,
  sync_contact_owner: false
}

export const closeConversation: typeof CloseConversation.Encoded = { category: "resolved" }

export const message: typeof Message.Encoded = {
  id: ids.message_id,
  conversation_id: ids.conversation_id,
  direction: "outbound",
  type: "template",
  text: "Hello Kim, your order 4711 is ready.",
  sender: { type: "member", name: "Ada Lindqvist" },
  status: "delivered",
  media: null,
  details: null,
  provider_message_id: "wamid.4711",
  created_at: "2026-11-20T10:00:00.000Z",
  sent_at: "2026-11-20T10:00:00.000Z",
  delivered_at: "2026-11-20T10:00:01.000Z",
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null
}

export const inboundMessage: typeof Message.Encoded = {
  ...message,
  id: "019aa0c2-5b00-7000-8000-00000000000f",
  direction: "inbound",
  type: "text",
  text: "When is order 4711 ready?",
  sender: { type: "contact", name: "Kim Berg" },
  status: "received",
  provider_message_id: "wamid.4710",
  created_at: "2026-11-20T09:58:00.000Z",
  sent_at: "2026-11-20T09:57:58.000Z",
  delivered_at: null
}

export const sendText: typeof SendMessage.Encoded = { type: "text", text: "Your order is ready, Kim." }

export const sendTemplate: typeof SendMessage.Encoded = { type: "template", template: choice }

/** A send as it is accepted. */
export const send: typeof Send.Encoded = {
  id: ids.send_id,
  conversation_id: ids.conversation_id,
  status: "queued",
  message_id: null,
  failure_reason: null,
  created_at: "2026-11-20T10:00:00.000Z"
}

/** The same send after the provider has accepted it. */
export const sent: typeof Send.Encoded = { ...send, status: "sent", message_id: ids.message_id }
