/** Conversations, sends and messages, as the specification tells them (spec §2.2, §2.3, §2.4, §3, §4.3, §4.4). */
import type { Channel } from "@messaging-crm/core/Channels"
import { DateTime } from "effect"
import { newContact } from "./Contacts.ts"
import {
  type Answer,
  type Contact,
  type Conversation,
  type Message,
  type Moment,
  newestFirst,
  ok,
  type Organization,
  refused,
  type Report,
  type Send,
  showConversation,
  showMessage,
  showSend
} from "./State.ts"

// -------------------------------------------------------- conversations

/** Returns the person's contact and identity: known, or the latest contact with that number, or a new one. */
const meet = (
  at: Moment,
  organization: Organization,
  { type: channel_type }: Channel,
  external_id: string,
  display_name: string | null
) => {
  for (const contact of organization.contacts) {
    const identity = contact.identities.find((known) =>
      known.channel_type === channel_type && known.external_id === external_id
    )
    if (identity === undefined) continue
    identity.display_name = display_name ?? identity.display_name
    return { contact, identity }
  }
  const is_number = channel_type === "phone_messaging"
  const sharing = organization.contacts.filter(({ plain }) => is_number && plain["primary_phone"] === external_id)
  const contact = newestFirst(sharing, ({ updated_at }) => updated_at)[0] ?? newContact(at, organization)
  if (is_number) contact.plain = { ...contact.plain, primary_phone: external_id }
  const identity = { id: at.name(), channel_type, external_id, display_name }
  contact.identities.push(identity)
  return { contact, identity }
}

/** Returns the person's conversation on the channel, made or reopened as needed. */
const open = (
  at: Moment,
  organization: Organization,
  channel: Channel,
  external_id: string,
  display_name: string | null
): Conversation => {
  const { contact, identity } = meet(at, organization, channel, external_id, display_name)
  const known = organization.conversations.find((one) => one.channel === channel && one.identity === identity)
  if (known !== undefined) {
    reopen(at, known)
    return known
  }
  const conversation: Conversation = {
    id: at.name(),
    channel,
    contact,
    identity,
    created_at: at.now,
    status: "open",
    close_category: null,
    assigned_user_id: null,
    opened_at: at.now,
    closed_at: null,
    last_activity_at: at.now,
    preview: null,
    last_inbound_at: null,
    lane: []
  }
  organization.conversations.push(conversation)
  return conversation
}

export const listConversations = (
  organization: Organization,
  { assigned_user_id, status }: { readonly status: string | null; readonly assigned_user_id: string | null }
) =>
  newestFirst(
    organization.conversations.filter((conversation) =>
      (status === null || conversation.status === status) &&
      (assigned_user_id === null || conversation.assigned_user_id === assigned_user_id)
    ),
    ({ last_activity_at }) => last_activity_at
  ).map(showConversation)

export const assign = (
  at: Moment,
  organization: Organization,
  conversation: Conversation | undefined,
  assigned_user_id: string | null,
  sync_contact_owner: boolean
): Answer => {
  if (assigned_user_id !== null && !organization.members.some(({ id }) => id === assigned_user_id)) {
    return refused("ReferenceUnknown", "assigned_user_id")
  }
  if (conversation === undefined) return refused("ConversationNotFound")
  conversation.assigned_user_id = assigned_user_id
  if (sync_contact_owner) own(at, conversation.contact, assigned_user_id)
  return ok(showConversation(conversation))
}

const own = (at: Moment, contact: Contact, owner_user_id: string | null) => {
  contact.plain = { ...contact.plain, owner_user_id }
  contact.updated_at = at.now
}

export const close = (at: Moment, conversation: Conversation | undefined, category: string | null): Answer => {
  if (conversation === undefined) return refused("ConversationNotFound")
  if (conversation.status === "open") {
    conversation.status = "closed"
    conversation.close_category = category
    conversation.closed_at = at.now
  }
  return ok(showConversation(conversation))
}

export const reopen = (at: Moment, conversation: Conversation | undefined): Answer => {
  if (conversation === undefined) return refused("ConversationNotFound")
  if (conversation.status === "closed") {
    conversation.status = "open"
    conversation.close_category = null
    conversation.opened_at = at.now
    conversation.closed_at = null
  }
  return ok(showConversation(conversation))
}

// ------------------------------------------------------------- messages

export const messagesOf = (organization: Organization, conversation: Conversation) =>
  newestFirst(
    organization.messages.filter((message) => message.conversation === conversation),
    ({ created_at }) => created_at
  ).map(showMessage)

/** Keeps a new message, the latest activity of its conversation and contact. */
const record = (at: Moment, organization: Organization, message: Message) => {
  const { conversation, text, type } = message
  const preview = Array.from(text ?? `[${type}]`).slice(0, 140).join("")
  organization.messages.push(message)
  conversation.last_activity_at = at.now
  conversation.preview = preview
  conversation.contact.last = { at: at.now, preview, conversation }
  conversation.contact.updated_at = at.now
}

export interface Inbound {
  readonly from: string
  readonly display_name: string | null
  readonly provider_message_id: string
  readonly type: "text" | "image"
  readonly text: string | null
  readonly sent_at: DateTime.Utc
}

export const receive = (
  at: Moment,
  organization: Organization,
  channel: Channel | undefined,
  { display_name, from, provider_message_id, sent_at, text, type }: Inbound
): Answer => {
  if (channel === undefined) return refused("ChannelUnknown")
  const is_known = organization.messages.some((message) =>
    message.conversation.channel === channel && message.provider_message_id === provider_message_id
  )
  if (is_known) return ok(undefined)
  const conversation = open(at, organization, channel, from, display_name)
  const sender = { type: "contact", name: display_name }
  const { now: created_at } = at
  record(at, organization, {
    id: at.name(),
    conversation,
    type,
    text,
    sender,
    provider_message_id,
    created_at,
    sent_at,
    reports: null
  })
  conversation.last_inbound_at = DateTime.max(conversation.last_inbound_at ?? sent_at, sent_at)
  return ok(undefined)
}

// ---------------------------------------------------------------- sends

/** Returns what is wrong with sending this template on the channel. */
const objection = (channel: Channel, template: string): Answer | null => {
  if (channel.type !== "phone_messaging") return refused("ChannelTypeUnsuited")
  if (template === "unknown") return refused("TemplateNotFound")
  return template === "greeting" ? null : refused("TemplateValuesMismatch")
}

const queue = (at: Moment, organization: Organization, conversation: Conversation, content: Send["content"]) => {
  const send: Send = {
    id: at.name(),
    conversation,
    content,
    created_at: at.now,
    reports: [],
    status: "queued",
    message: null,
    failure_reason: null,
    attempts: 0,
    first_attempt_at: null,
    due_at: at.now
  }
  organization.sends.push(send)
  conversation.lane = [...conversation.lane, send]
  return ok(showSend(send))
}

export const start = (
  at: Moment,
  organization: Organization,
  channel: Channel | undefined,
  { phone, template, value }: { readonly phone: string; readonly template: string; readonly value: string }
): Answer => {
  if (channel === undefined) return refused("ReferenceUnknown", "channel_id")
  const objected = objection(channel, template)
  if (objected !== null) return objected
  const conversation = open(at, organization, channel, phone, null)
  return queue(at, organization, conversation, { type: "template", text: `Hello ${value}` })
}

export const sendTemplate = (
  at: Moment,
  organization: Organization,
  conversation: Conversation | undefined,
  { template, value }: { readonly template: string; readonly value: string }
): Answer => {
  if (conversation === undefined) return refused("ConversationNotFound")
  return objection(conversation.channel, template) ??
    queue(at, organization, conversation, { type: "template", text: `Hello ${value}` })
}

export const sendText = (
  at: Moment,
  organization: Organization,
  conversation: Conversation | undefined,
  text: string
): Answer => {
  if (conversation === undefined) return refused("ConversationNotFound")
  const { last_inbound_at } = conversation
  const is_open = last_inbound_at !== null && DateTime.isLessThan(at.now, DateTime.add(last_inbound_at, { hours: 24 }))
  return is_open ? queue(at, organization, conversation, { type: "text", text }) : refused("ReplyWindowClosed")
}

const complete = (at: Moment, organization: Organization, send: Send) => {
  const { name = null } = organization.members[0] ?? {}
  const message: Message = {
    id: at.name(),
    conversation: send.conversation,
    ...send.content,
    sender: { type: "member", name },
    provider_message_id: at.name(),
    created_at: at.now,
    sent_at: at.now,
    reports: send.reports
  }
  record(at, organization, message)
  send.status = "sent"
  send.message = message
}

const fail = (send: Send, failure_reason: string) => {
  send.status = "failed"
  send.failure_reason = failure_reason
}

const isOpen = ({ status }: Send) => status === "queued" || status === "unknown"

/** The provider says how far a message got. One with the send's reference proves that it took the message. */
export const report = (
  at: Moment,
  organization: Organization,
  send: Send | undefined,
  what: Report,
  with_reference: boolean
) => {
  send?.reports.push(what)
  if (send !== undefined && with_reference && isOpen(send)) complete(at, organization, send)
}

/** Returns the sends that the provider is to be asked about now: the first of each lane, unless it waits. */
export const due = ({ now }: Moment, organization: Organization): ReadonlyArray<Send> =>
  organization.conversations.flatMap((conversation) => {
    const isDue = (send: Send) => DateTime.isLessThanOrEqualTo(send.due_at, now)
    // A report may have ended a send that waits in its lane. It leaves when its turn comes.
    const stays = conversation.lane.findIndex((send) => isOpen(send) || !isDue(send))
    conversation.lane = stays === -1 ? [] : conversation.lane.slice(stays)
    return conversation.lane.slice(0, 1).filter(isDue)
  })

const pauses = [1, 5, 15, 30, 60]

/** One attempt of the first send of a lane. */
export const attempt = (at: Moment, organization: Organization, send: Send) => {
  const { conversation } = send
  const first_attempt_at = send.first_attempt_at ?? at.now
  const retry_at = DateTime.add(at.now, { seconds: pauses[send.attempts] ?? 60 })
  send.first_attempt_at = first_attempt_at
  send.attempts += 1
  if (organization.mood === "is busy") {
    send.due_at = retry_at
    if (DateTime.isLessThanOrEqualTo(retry_at, DateTime.add(first_attempt_at, { minutes: 2 }))) return
  }
  conversation.lane = conversation.lane.slice(1)
  switch (organization.mood) {
    case "accepts":
      return complete(at, organization, send)
    case "rejects":
      return fail(send, "recipient_unreachable")
    case "is busy":
      return fail(send, "provider_unavailable")
    case "is silent":
      send.status = "unknown"
      send.due_at = DateTime.add(at.now, { minutes: 15 })
  }
}

/** Nobody waits longer than 15 minutes for the outcome of a send. */
export const giveUp = ({ now }: Moment, organization: Organization) => {
  for (const send of organization.sends) {
    if (send.status === "unknown" && DateTime.isLessThanOrEqualTo(send.due_at, now)) fail(send, "outcome_unknown")
  }
}
