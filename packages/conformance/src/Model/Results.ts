/** The results that the model expects, with the rows as operations return them. */
import { DateTime } from "effect"
import { byId, type Name } from "./Names.ts"
import type { Contact, Conversation, Message, Report, Revision, Send, Webhook } from "./State.ts"

/** The result of an operation. */
export type Outcome = { readonly ok: unknown } | { readonly rejected: string; readonly param: unknown }

export const ok = (value: unknown): Outcome => ({ ok: value })
export const rejected = (tag: string, param: unknown = undefined): Outcome => ({ rejected: tag, param })

/** Latest first; of two with the same time, the one with the greater ID comes first. */
export const newestFirst = <A extends { readonly id: Name }>(rows: ReadonlyArray<A>, at: (row: A) => DateTime.Utc) =>
  rows.toSorted((a, b) => DateTime.Order(at(b), at(a)) || byId(b.id, a.id))

export const fullName = ({ plain }: Contact) =>
  [plain["first_name"], plain["last_name"]].filter((part) => part !== null).join(" ") || null

export const showContact = (contact: Contact) => ({
  ...contact.plain,
  id: contact.id,
  custom_values: contact.custom_values,
  identities: contact.identities.map((identity) => ({ ...identity, username: null })),
  tags: contact.tags,
  last_activity_at: contact.last?.at ?? null,
  last_activity_preview: contact.last?.preview ?? null,
  last_conversation_id: contact.last?.conversation.id ?? null,
  updated_at: contact.updated_at
})

export const showConversation = (conversation: Conversation) => ({
  id: conversation.id,
  channel: { id: conversation.channel.id, type: conversation.channel.type },
  contact: {
    id: conversation.contact.id,
    display_name: fullName(conversation.contact) ?? conversation.identity.display_name,
    external_id: conversation.identity.external_id,
    username: null
  },
  status: conversation.status,
  close_category: conversation.close_category,
  assigned_user_id: conversation.assigned_user_id,
  agent_id: null,
  created_at: conversation.created_at,
  opened_at: conversation.opened_at,
  closed_at: conversation.closed_at,
  last_activity_at: conversation.last_activity_at,
  last_activity_preview: conversation.preview,
  reply_window_expires_at: conversation.last_inbound_at && DateTime.add(conversation.last_inbound_at, { hours: 24 })
})

export const showSend = (send: Send) => ({
  id: send.id,
  conversation_id: send.conversation.id,
  status: send.status,
  message_id: send.status === "sent" ? send.message?.id ?? null : null,
  failure_reason: send.failure_reason,
  created_at: send.created_at
})

export const showWebhook = (webhook: Webhook) => ({
  id: webhook.id,
  url: webhook.url,
  event_types: webhook.event_types,
  include_resource: webhook.include_resource,
  status: webhook.disabled_at === null ? "active" : "disabled",
  created_at: webhook.created_at,
  disabled_at: webhook.disabled_at
})

/** Applies the latest edit and the earliest deletion. */
const revised = (revisions: ReadonlyArray<Revision>) => {
  let [edit, deleted_at]: [Extract<Revision, { readonly status: "edited" }> | null, DateTime.Utc | null] = [null, null]
  for (const revision of revisions) {
    if (revision.status === "deleted") deleted_at = earlier(deleted_at, revision.at)
    else if (edit === null || DateTime.isGreaterThan(revision.at, edit.at)) edit = revision
  }
  return { edit, deleted_at }
}

const earlier = (a: DateTime.Utc | null, b: DateTime.Utc) => a === null || DateTime.isLessThan(b, a) ? b : a

const failureOf = (code: number) => ({ code, title: "Rejected", description: null })

/** The failure of the earliest report that the message failed. Of several at the same time, the one with the lowest code. */
const explained = (reports: ReadonlyArray<Report>) => {
  const failed = reports.filter(({ status }) => status === "failed")
  const at = failed.map((report) => report.at).reduce(earlier, null)
  const codes = failed.flatMap((report) =>
    at !== null && DateTime.Equivalence(report.at, at) && report.code !== null ? [report.code] : []
  )
  return codes.length === 0 ? null : { failure: failureOf(Math.min(...codes)) }
}

/** Applies status updates in any order and any number: each time is the earliest, and the status follows from the times. */
export const showMessage = (message: Message) => {
  const reports = message.reports ?? []
  const earliest = (wanted: Report["status"]) =>
    reports.filter(({ status }) => status === wanted).map(({ at }) => at).reduce(earlier, null)
  const [read_at, failed_at] = [earliest("read"), earliest("failed")]
  // A message that was read was also delivered.
  const delivered_at = earliest("delivered") ?? read_at
  const reported = read_at !== null
    ? "read"
    : delivered_at !== null
    ? "delivered"
    : failed_at !== null
    ? "failed"
    : "sent"
  const { deleted_at, edit } = revised(message.revisions)
  return {
    id: message.id,
    conversation_id: message.conversation.id,
    direction: message.reports === null ? "inbound" : "outbound",
    type: message.type,
    text: message.provider_message_id === null
      ? "[erased]"
      : deleted_at === null
      ? edit === null ? message.text : edit.text
      : null,
    sender: message.sender,
    status: message.reports === null ? "received" : reported,
    media: null,
    details: message.provider_message_id === null
      ? null
      : explained(message.reports ?? []) ?? (deleted_at === null ? message.details : null),
    provider_message_id: message.provider_message_id,
    created_at: message.created_at,
    // Whatever was reported happened after it was sent.
    sent_at: reports.map(({ at }) => at).reduce(DateTime.min, message.sent_at),
    delivered_at,
    read_at,
    failed_at,
    edited_at: edit?.at ?? null,
    deleted_at
  }
}
