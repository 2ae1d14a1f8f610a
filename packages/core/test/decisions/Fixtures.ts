/** Fixtures of decision tests: one row of each resource. */
import type { Channel } from "@messaging-crm/core/Channels"
import * as Contacts from "@messaging-crm/core/Contacts"
import type * as Conversations from "@messaging-crm/core/Conversations"
import type { DecisionContext } from "@messaging-crm/core/Decide"
import {
  ChannelId,
  ContactId,
  ConversationId,
  IdentityId,
  MemberId,
  MessageId,
  SendId,
  WebhookId
} from "@messaging-crm/core/Ids"
import { type MemberRow } from "@messaging-crm/core/Members"
import type * as Messages from "@messaging-crm/core/Messages"
import type * as Sends from "@messaging-crm/core/Sends"
import type * as Webhooks from "@messaging-crm/core/Webhooks"
import { DateTime, Result } from "effect"

export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
export const after = (milliseconds: number) => DateTime.add(noon, { milliseconds })

/** An ID by its number; those that a decision makes begin at 100. */
export const id = (number: number) => `0199f000-0000-7000-8000-${String(number).padStart(12, "0")}`

/** The time, and IDs in the order of the calls. */
export const context = (now = after(9), first = 100): DecisionContext => {
  let next = first
  return { now, uuid: () => id(next++) }
}

export const rejection = (result: Result.Result<unknown, { readonly _tag: string }>) =>
  Result.match(result, { onFailure: ({ _tag }) => _tag, onSuccess: () => null })

export const phone = "+4915112345678"

export const identity: Contacts.Identity = {
  id: IdentityId.make(id(4)),
  channel_type: "phone_messaging",
  external_id: phone,
  display_name: "Kim",
  username: null,
  ...Contacts.no_marketing_preference
}

export const contact: Contacts.LoadedContact = {
  ...Contacts.newContact(ContactId.make(id(3)), { phone }, noon),
  first_name: "Kim",
  identities: [identity],
  version: 7
}

export const channel: Channel = {
  id: ChannelId.make(id(2)),
  type: "phone_messaging",
  name: "Support",
  address: "+49301234",
  phone_messaging_business_account_id: "account",
  connected_at: noon
}

export const conversation: Conversations.ConversationRow = {
  id: ConversationId.make(id(1)),
  channel_id: channel.id,
  channel_type: channel.type,
  contact_id: contact.id,
  first_name: "Kim",
  last_name: null,
  identity_id: identity.id,
  external_id: phone,
  display_name: "Kim",
  username: null,
  status: "open",
  close_category: null,
  assigned_user_id: null,
  agent_id: null,
  created_at: noon,
  opened_at: noon,
  closed_at: null,
  last_activity_at: noon,
  last_activity_preview: null,
  last_inbound_at: noon,
  version: 5
}

export const ada: MemberRow = {
  id: MemberId.make(id(5)),
  name: "Ada",
  email: "ada@acme.example",
  email_key: "ada@acme.example",
  role: "admin",
  created_at: noon,
  left_at: null,
  logged_out_at: null,
  version: 3
}

export const row: Sends.SendRow = {
  id: SendId.make(id(10)),
  conversation_id: conversation.id,
  status: "sending",
  message_id: null,
  failure_reason: null,
  created_at: noon,
  channel_id: channel.id,
  recipient: phone,
  member_id: ada.id,
  content: { type: "text", text: "Hello" },
  first_attempt_at: noon,
  may_be_sent: false,
  version: 2
}

export const message: Messages.MessageRow = {
  id: MessageId.make(id(11)),
  conversation_id: conversation.id,
  direction: "outbound",
  type: "text",
  text: "Hello",
  sender: { type: "member", name: "Ada" },
  status: "sent",
  media: null,
  details: null,
  provider_message_id: "p",
  created_at: noon,
  sent_at: noon,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null,
  version: 4
}

export const webhook: Webhooks.WebhookRow = {
  id: WebhookId.make(id(30)),
  url: "https://shop.example/crm",
  event_types: ["message.sent"],
  include_resource: false,
  status: "active",
  created_at: noon,
  disabled_at: null,
  sealed_secret: "sealed",
  consecutive_failures: 3,
  first_failure_at: noon,
  version: 8
}
