/** The model of messages, their edits and deletions (contract §11). */
import type { Channel } from "@messaging-crm/core/Channels"
import { DateTime } from "effect"
import { conversationWith, open } from "./Conversations.ts"
import { raise } from "./Events.ts"
import { newestFirst, ok, type Outcome, rejected, showMessage } from "./Results.ts"
import type { Conversation, Message, Organization, Report, Revision } from "./State.ts"

const messagesIn = (organization: Organization, conversation: Conversation | undefined) =>
  newestFirst(
    organization.messages.filter((message) => message.conversation === conversation),
    ({ created_at }) => created_at
  )

export const listMessages = (organization: Organization, conversation: Conversation) =>
  messagesIn(organization, conversation).map(showMessage)

const previewOf = (message: Message): string => {
  const { deleted_at, text, type } = showMessage(message)
  return deleted_at === null ? Array.from(text ?? `[${type}]`).slice(0, 140).join("") : "[deleted]"
}

/** Adds a message, and makes it the latest activity of its conversation and contact. */
export const addMessage = (organization: Organization, message: Message) => {
  const { conversation } = message
  const preview = previewOf(message)
  organization.messages.push(message)
  conversation.last_activity_at = organization.now
  conversation.preview = preview
  conversation.contact.last = { at: organization.now, preview, conversation }
  conversation.contact.updated_at = organization.now
}

/** Returns whether the message was erased with its person, so that nothing about it is stored. */
const isErased = ({ erased_messages }: Organization, channel: Channel, provider_message_id: string) =>
  erased_messages.has(`${channel.id} ${provider_message_id}`)

const findMessage = (organization: Organization, channel: Channel, provider_message_id: string) =>
  organization.messages.find((message) =>
    message.conversation.channel === channel && message.provider_message_id === provider_message_id
  )

/** Returns the channel and the provider ID of every message that has a provider ID. */
export const providerIds = (organization: Organization) =>
  organization.messages.flatMap(({ conversation: { channel }, provider_message_id }) =>
    typeof provider_message_id === "string" ? [{ channel, provider_message_id }] : []
  )

/** The edits and deletions of a message, which may come before the message. */
const revisionsOf = (organization: Organization, channel: Channel, provider_message_id: string) => {
  const key = `${channel.id} ${provider_message_id}`
  const revisions = organization.revisions.get(key) ?? []
  organization.revisions.set(key, revisions)
  return revisions
}

export interface Inbound {
  readonly from: string
  readonly display_name: string | null
  readonly provider_message_id: string
  readonly type: "text" | "image"
  readonly text: string | null
  readonly details: object | null
  readonly sent_at: DateTime.Utc
}

export const receive = (
  organization: Organization,
  channel: Channel | undefined,
  {
    details,
    display_name,
    from,
    is_written_by_person,
    provider_message_id,
    sent_at,
    text,
    type
  }: Inbound & { readonly is_written_by_person: boolean }
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  if (isErased(organization, channel, provider_message_id)) return ok(undefined)
  if (findMessage(organization, channel, provider_message_id) !== undefined) return ok(undefined)
  const conversation = open(organization, channel, from, display_name)
  const sender = { type: "contact", name: display_name }
  const message: Message = {
    id: organization.newName(),
    conversation,
    type,
    text,
    details,
    sender,
    provider_message_id,
    created_at: organization.now,
    sent_at,
    reports: null,
    revisions: revisionsOf(organization, channel, provider_message_id)
  }
  addMessage(organization, message)
  raise(organization, "message.received", { conversation_id: conversation.id, message_id: message.id })
  if (!is_written_by_person) return ok(undefined)
  const written_at = DateTime.min(sent_at, organization.now)
  conversation.last_inbound_at = DateTime.max(conversation.last_inbound_at ?? written_at, written_at)
  return ok(undefined)
}

/** The business wrote in the network's own app: a closed conversation stays closed. */
export const sendByApp = (
  organization: Organization,
  channel: Channel | undefined,
  { display_name, from: to, ...fields }: Inbound
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  if (isErased(organization, channel, fields.provider_message_id)) return ok(undefined)
  if (findMessage(organization, channel, fields.provider_message_id) !== undefined) return ok(undefined)
  const conversation = open(organization, channel, to, display_name, { reopens: false })
  const message: Message = {
    id: organization.newName(),
    conversation,
    ...fields,
    sender: { type: "business_app", name: null },
    created_at: organization.now,
    reports: [],
    revisions: revisionsOf(organization, channel, fields.provider_message_id)
  }
  addMessage(organization, message)
  raise(organization, "message.sent", { conversation_id: conversation.id, message_id: message.id })
  return ok(undefined)
}

/** Applies a report to every message to the person that was sent by a time. */
export const reportAll = (
  organization: Organization,
  channel: Channel | undefined,
  to: string,
  report: Report,
  until: DateTime.Utc
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  for (const message of messagesIn(organization, conversationWith(organization, channel, to))) {
    const before = showMessage(message)
    const { failed_at, provider_message_id, read_at, sent_at } = before
    const isReported = read_at !== null || (report.status === "delivered" && before.delivered_at !== null)
    const isSent = failed_at === null && DateTime.isLessThanOrEqualTo(sent_at, until)
    if (message.reports === null || provider_message_id === null || isReported || !isSent) continue
    message.reports.push(report)
    const { status } = report
    const data = { conversation_id: message.conversation.id, message_id: message.id, status }
    if (showMessage(message).status !== before.status) raise(organization, "message.updated", data)
  }
  return ok(undefined)
}

/** The author of a message edited or deleted it. */
export const revise = (
  organization: Organization,
  channel: Channel | undefined,
  provider_message_id: string,
  revision: Revision
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  if (isErased(organization, channel, provider_message_id)) return ok(undefined)
  const revisions = revisionsOf(organization, channel, provider_message_id)
  const message = findMessage(organization, channel, provider_message_id)
  if (message === undefined) {
    revisions.push(revision)
    return ok(undefined)
  }
  const [before, formerPreview] = [showMessage(message), previewOf(message)]
  revisions.push(revision)
  const [after, preview] = [showMessage(message), previewOf(message)]
  const { conversation, created_at } = message
  const isLast = preview !== formerPreview && DateTime.Equivalence(conversation.last_activity_at, created_at)
  const { last } = conversation.contact
  if (isLast) conversation.preview = preview
  if (isLast && last !== null && DateTime.Equivalence(last.at, created_at)) {
    conversation.contact.last = { at: last.at, preview, conversation }
  }
  const hasChanged = after.edited_at !== before.edited_at || after.deleted_at !== before.deleted_at
  if (hasChanged && before.deleted_at === null) {
    const { status } = revision
    raise(organization, "message.updated", { conversation_id: conversation.id, message_id: message.id, status })
  }
  return ok(undefined)
}
