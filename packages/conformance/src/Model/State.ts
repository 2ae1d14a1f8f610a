/**
 * The state of the model: the service according to the contract, in so few
 * lines that they can be checked by eye. Plain lists, changed in place; no
 * storage, no concurrency.
 *
 * Ids that the service chooses are `Name`s here. `undefined` instead of a row
 * means that the organization has no such row.
 */
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import type { ContactField } from "@messaging-crm/core/ContactFields"
import type { AnyEventType, EventType } from "@messaging-crm/core/Events"
import type { Member } from "@messaging-crm/core/Members"
import type { TagColor } from "@messaging-crm/core/Tags"
import { DateTime } from "effect"
import { byId, type Name } from "./Names.ts"

// ---------------------------------------------------------------- data

/** The result of an operation. */
export type Outcome = { readonly ok: unknown } | { readonly rejected: string; readonly param: unknown }

/** The time of a command, and the names for the rows that it creates. */
export interface Moment {
  readonly now: DateTime.Utc
  readonly name: () => Name
}

export interface Tag {
  readonly id: Name
  readonly name: string
  readonly color: TagColor
}

export interface Identity {
  readonly id: Name
  readonly channel_type: ChannelType
  external_id: string
  display_name: string | null
}

export interface Contact {
  readonly id: Name
  plain: Readonly<Record<string, string | null>>
  custom_values: Readonly<Record<string, string>>
  tags: ReadonlyArray<Tag>
  readonly identities: Array<Identity>
  last: { readonly at: DateTime.Utc; readonly preview: string; readonly conversation: Conversation } | null
  updated_at: DateTime.Utc
}

export interface Conversation {
  readonly id: Name
  readonly channel: Channel
  readonly contact: Contact
  readonly identity: Identity
  readonly created_at: DateTime.Utc
  status: "open" | "closed"
  close_category: string | null
  assigned_user_id: string | null
  opened_at: DateTime.Utc
  closed_at: DateTime.Utc | null
  last_activity_at: DateTime.Utc
  preview: string | null
  last_inbound_at: DateTime.Utc | null
  /** The sends whose last attempt is still to come, in order. */
  lane: ReadonlyArray<Send>
}

export interface Message {
  readonly id: Name
  readonly conversation: Conversation
  readonly type: string
  readonly text: string | null
  /** The details with which it was received. */
  readonly details: object | null
  sender: { readonly type: string; readonly name: string | null }
  /** Null once the person is erased. */
  provider_message_id: Name | string | null
  readonly created_at: DateTime.Utc
  readonly sent_at: DateTime.Utc
  /** The status updates of an outbound message; null for an inbound one. */
  readonly reports: Array<Report> | null
  readonly revisions: ReadonlyArray<Revision>
}

/** An edit or a deletion by the author of a message. */
export type Revision =
  | { readonly status: "edited"; readonly text: string | null; readonly at: DateTime.Utc }
  | { readonly status: "deleted"; readonly at: DateTime.Utc }

export interface Report {
  readonly status: "sent" | "delivered" | "read" | "failed"
  readonly at: DateTime.Utc
  /** The code of a failure, if the provider reported one. */
  readonly code: number | null
}

export interface Send {
  readonly id: Name
  readonly conversation: Conversation
  /** Null once the person is erased. */
  recipient: string | null
  readonly content: { readonly type: "text" | "template"; readonly text: string }
  readonly created_at: DateTime.Utc
  readonly reports: Array<Report>
  status: "queued" | "sent" | "failed" | "unknown"
  /** Set even for a send that failed with an unknown outcome, and turned out to be sent. */
  message: Message | null
  failure_reason: string | null
  attempts: number
  first_attempt_at: DateTime.Utc | null
  /** When it is tried again or, with an unknown outcome, when it fails. */
  due_at: DateTime.Utc
}

export interface Event {
  readonly type: AnyEventType
  readonly data: Readonly<Record<string, Name | string | null | ReadonlyArray<string>>>
  readonly created_at: DateTime.Utc
  /** Whether it is stored with the message, conversation, or contact. */
  has_resource: boolean
}

/** An event that was posted to a webhook, with or without its message, conversation, or contact. */
export type Post = Omit<Event, "created_at">

export interface Webhook {
  readonly id: Name
  url: string
  /** The URLs that it had before. */
  readonly former_urls: Array<string>
  event_types: ReadonlyArray<EventType>
  include_resource: boolean
  readonly created_at: DateTime.Utc
  disabled_at: DateTime.Utc | null
  /** When its secret was replaced. */
  readonly rotations: Array<DateTime.Utc>
  readonly posted: Array<Post>
  pending: Array<Event>
  readonly abandoned: Array<Event>
  /** The events that are to be posted again: of these times. */
  replay: { readonly since: DateTime.Utc; readonly until: DateTime.Utc } | null
  readonly replayed: Array<Post>
}

export interface Organization {
  readonly id: string
  /** The time of the current command. */
  now: DateTime.Utc
  readonly channels: ReadonlyArray<Channel>
  readonly members: ReadonlyArray<Member>
  readonly fields: ReadonlyArray<ContactField>
  readonly tags: Array<Tag>
  readonly contacts: Array<Contact>
  readonly conversations: Array<Conversation>
  readonly messages: Array<Message>
  readonly sends: Array<Send>
  /** Keyed by channel and provider message ID. */
  readonly revisions: Map<string, Array<Revision>>
  readonly webhooks: Array<Webhook>
  /** Every event that was raised. */
  readonly events: Array<Event>
  behavior: "accepts" | "rejects" | "is busy" | "is unresponsive"
}

// --------------------------------------------------------------- shape

export const ok = (value: unknown): Outcome => ({ ok: value })
export const rejected = (tag: string, param: unknown = undefined): Outcome => ({ rejected: tag, param })

/** Latest first; of two with the same time, the one with the greater id comes first. */
export const newestFirst = <A extends { readonly id: Name }>(all: ReadonlyArray<A>, at: (one: A) => DateTime.Utc) =>
  all.toSorted((a, b) => DateTime.Order(at(b), at(a)) || byId(b.id, a.id))

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
  const earliest = (wanted: Report["status"]) =>
    (message.reports ?? []).filter(({ status }) => status === wanted).map(({ at }) => at)
      .reduce(earlier, null)
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
    sent_at: DateTime.min(message.sent_at, earliest("sent") ?? message.sent_at),
    delivered_at,
    read_at,
    failed_at,
    edited_at: edit?.at ?? null,
    deleted_at
  }
}
