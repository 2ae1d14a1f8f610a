/**
 * A conversation as callers see it, as it is stored, and as it is changed (contract §10).
 */
import { DateTime, Duration, Schema } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { fullName, type KnownIdentity } from "../contacts/Contacts.ts"
import { ChannelId, ContactId, ConversationId, IdentityId, MemberId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { line } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"

export const ConversationStatus = Schema.Literals(["open", "closed"])
export type ConversationStatus = typeof ConversationStatus.Type

export const Conversation = Schema.Struct({
  id: ConversationId,
  channel: Schema.Struct({ id: ChannelId, type: ChannelType }),
  contact: Schema.Struct({
    id: ContactId,
    display_name: Schema.NullOr(Schema.String),
    external_id: Schema.NullOr(Schema.String).annotate({
      description:
        "The network's ID for the contact on this channel; on `phone_messaging`, the number if the network provides it."
    }),
    username: Schema.NullOr(Schema.String)
  }),
  status: ConversationStatus,
  close_category: Schema.NullOr(Schema.String).annotate({ description: "Why it was closed; null while it is open." }),
  assigned_user_id: Schema.NullOr(MemberId).annotate({ description: "The member to whom it is assigned." }),
  agent_id: Schema.NullOr(Schema.String.annotate({ format: "uuid" })).annotate({
    description: "The automatic agent to which it is assigned."
  }),
  created_at: Timestamp,
  opened_at: Timestamp,
  closed_at: Schema.NullOr(Timestamp).annotate({ description: "Null while it is open." }),
  last_activity_at: Timestamp,
  last_activity_preview: Schema.NullOr(Schema.String).annotate({ description: "The beginning of the last message." }),
  reply_window_expires_at: Schema.NullOr(Timestamp).annotate({
    description:
      "When the reply window closes: 24 hours after the contact's last message; null before the first message."
  })
}).annotate({
  identifier: "Conversation",
  description:
    "The thread between one contact and the organization on one channel. A phone number has one conversation per channel."
})
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

/** The columns of a conversation. The pair of channel and identity is unique. */
export const ConversationColumns = Schema.Struct({
  id: ConversationId,
  channel_id: ChannelId,
  contact_id: ContactId,
  identity_id: IdentityId,
  status: ConversationStatus,
  close_category: Schema.NullOr(Schema.String),
  assigned_user_id: Schema.NullOr(MemberId),
  agent_id: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  opened_at: Timestamp,
  closed_at: Schema.NullOr(Timestamp),
  last_activity_at: Timestamp,
  last_activity_preview: Schema.NullOr(Schema.String),
  /** The provider's time of the contact's last message, with which the reply window begins. */
  last_inbound_at: Schema.NullOr(Timestamp)
})
export interface ConversationColumns extends Schema.Schema.Type<typeof ConversationColumns> {}

export const ConversationRows = Changes.declareTable(ConversationColumns)({
  name: "conversations",
  key: { id: "uuid" },
  unique: { columns: ["channel_id", "identity_id"], within: "organization" },
  activity: {
    row: "conversation_id",
    latest: "last_activity_at",
    newest: { last_activity_preview: "preview" },
    moved: { last_inbound_at: "last_inbound_at" }
  }
})

/** A loaded conversation, with the columns of its channel, contact and identity that callers see. */
export const ConversationRow = Schema.Struct({
  ...ConversationColumns.fields,
  channel_type: ChannelType,
  first_name: Schema.NullOr(Schema.String),
  last_name: Schema.NullOr(Schema.String),
  external_id: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String),
  version: Schema.Int
})
export interface ConversationRow extends Schema.Schema.Type<typeof ConversationRow> {}

/** A known identity, with its conversation on the channel if there is one. */
export interface IdentityWithConversation extends KnownIdentity {
  readonly conversation: ConversationRow | null
}

/** The filters of a list. A filter that is null does not filter (contract §10.6). */
export interface ConversationFilters {
  readonly status: ConversationStatus | null
  readonly assigned_user_id: MemberId | null
  readonly unassigned: true | null
  readonly contact_id: ContactId | null
  readonly channel_id: ChannelId | null
}

/** The filters that every conversation passes. */
export const everyConversation: ConversationFilters = {
  status: null,
  assigned_user_id: null,
  unassigned: null,
  contact_id: null,
  channel_id: null
}

export const AssignConversation = Schema.Struct({
  assigned_user_id: Schema.NullOr(MemberId).annotate({
    description: "Null unassigns the conversation and does not change the contact's owner."
  }),
  sync_contact_owner: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether to make the member the contact's owner too. No effect if the conversation is unassigned.",
      default: true
    })
  )
}).annotate({ identifier: "AssignConversation" }).pipe(Schema.brand("AssignConversation"))
export interface AssignConversation extends Schema.Schema.Type<typeof AssignConversation> {}

const closeCategory = line(limits.close_category_chars_max).pipe(Schema.annotateEncoded({
  description: "Any text. Suggestions: `resolved`, `no_response`, `spam`, `duplicate`, `other`.",
  default: null
}))

export const CloseConversation = Schema.Struct({ category: Schema.optionalKey(closeCategory) }).annotate({
  identifier: "CloseConversation"
}).pipe(Schema.brand("CloseConversation"))
export interface CloseConversation extends Schema.Schema.Type<typeof CloseConversation> {}

// -------------------------------------------------------- reply window

/** How long a text may be sent after the contact's last message (contract §10.7). */
const reply_window = Duration.hours(24)

type LastInbound = Pick<ConversationColumns, "last_inbound_at">

/** Returns when the reply window closes, or null if the contact has sent no message. */
const replyWindowEnd = ({ last_inbound_at }: LastInbound): Timestamp | null =>
  last_inbound_at === null ? null : DateTime.addDuration(last_inbound_at, reply_window)

/** Returns whether a text may be sent now. */
export const isReplyWindowOpen = (row: LastInbound, now: Timestamp): boolean => {
  const end = replyWindowEnd(row)
  return end !== null && DateTime.isLessThan(now, end)
}

/** Returns the conversation after a message of the contact, or unchanged if there was no message. */
export const withInbound = <Row extends LastInbound>(row: Row, inbound_at: Timestamp | null): Row => {
  if (inbound_at === null) return row
  const { last_inbound_at } = row
  return { ...row, last_inbound_at: last_inbound_at === null ? inbound_at : DateTime.max(last_inbound_at, inbound_at) }
}

/** The columns of a conversation that callers see. */
export type VisibleColumns = Omit<ConversationRow, "version">

/** Returns the conversation as callers see it. */
export const toConversation = (row: VisibleColumns): Conversation => ({
  id: row.id,
  channel: { id: row.channel_id, type: row.channel_type },
  contact: {
    id: row.contact_id,
    display_name: fullName(row) ?? row.display_name,
    external_id: row.external_id,
    username: row.username
  },
  status: row.status,
  close_category: row.close_category,
  assigned_user_id: row.assigned_user_id,
  agent_id: row.agent_id,
  created_at: row.created_at,
  opened_at: row.opened_at,
  closed_at: row.closed_at,
  last_activity_at: row.last_activity_at,
  last_activity_preview: row.last_activity_preview,
  reply_window_expires_at: replyWindowEnd(row)
})
