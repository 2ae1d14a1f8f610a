/**
 * A message as callers see it, and as it is stored (contract §11).
 */
import { DateTime, Duration, Schema } from "effect"
import { ChannelId, ConversationId, MessageId } from "../kernel/Ids.ts"
import { jsonSchemaOnly, preview } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import type { Row } from "../work/Rows.ts"
import { LinkedMedia, MessageMedia } from "./Media.ts"
import { MessageDetails } from "./MessageDetails.ts"

// ---------------------------------------------------------------- data

export const Direction = Schema.Literals(["inbound", "outbound"])
export type Direction = typeof Direction.Type

/** The types of messages that providers report to this version. */
export const MessageType = Schema.Literals([
  "text",
  "template",
  "image",
  "video",
  "audio",
  "document",
  "sticker",
  "location",
  "contacts",
  "interactive",
  "reaction",
  "unsupported"
])
export type MessageType = typeof MessageType.Type

/** Schema for the type of a stored message. It is open, because new types can appear within `v1` (contract §1.4). */
const OpenMessageType = Schema.String.check(jsonSchemaOnly({
  description: `Values: ${
    MessageType.literals.map((type) => `\`${type}\``).join(", ")
  }. New values can appear within a version.`,
  "x-extensible-enum": MessageType.literals
}))

export const Sender = Schema.Struct({
  type: Schema.Literals(["contact", "member", "agent", "system", "business_app"]).annotate({
    description:
      "The sender of a message sent through the API is the member for whom the API key was created. `business_app` means that the message was written in the network's own app."
  }),
  name: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Sender", description: "The author of a message." })
export interface Sender extends Schema.Schema.Type<typeof Sender> {}

export const MessageStatus = Schema.Literals(["received", "sent", "delivered", "read", "failed"])
export type MessageStatus = typeof MessageStatus.Type

const OptionalTimestamp = Schema.NullOr(Timestamp)

export const Message = Schema.Struct({
  id: MessageId,
  conversation_id: ConversationId,
  direction: Direction.annotate({ description: "`inbound` from the contact, `outbound` from the organization." }),
  type: OpenMessageType,
  text: Schema.NullOr(Schema.String).annotate({
    description: "The text, the caption, or the template with its values."
  }),
  sender: Sender,
  status: MessageStatus.annotate({
    description:
      "Inbound messages: `received`. Outbound messages only move forward: `sent`, `delivered`, `read`; or `failed`, which a later `delivered` or `read` replaces."
  }),
  media: Schema.NullOr(MessageMedia),
  details: Schema.NullOr(MessageDetails),
  provider_message_id: Schema.NullOr(Schema.String).annotate({
    description: "The messaging provider's ID for the message."
  }),
  created_at: Timestamp,
  sent_at: OptionalTimestamp,
  delivered_at: OptionalTimestamp,
  read_at: OptionalTimestamp,
  failed_at: OptionalTimestamp,
  edited_at: OptionalTimestamp,
  deleted_at: OptionalTimestamp
})
export interface Message extends Schema.Schema.Type<typeof Message> {}

/** A message as callers see it, with a new link to its file. */
export const LinkedMessage = Schema.Struct({
  ...Message.fields,
  media: Schema.NullOr(LinkedMedia)
}).annotate({
  identifier: "Message",
  description:
    "A message of a conversation. `created_at` is the time at which the service stored it; the other times are the provider's."
})
export interface LinkedMessage extends Schema.Schema.Type<typeof LinkedMessage> {}

/**
 * A message as it is stored. Its `delivered_at` is what the provider reported; if
 * a message was read without a delivery report, callers see `read_at` there.
 */
export type MessageRow = Row<Message>

/** The columns of a message. */
const MessageColumns = Schema.Struct({ ...Message.fields, channel_id: ChannelId })
export interface MessageColumns extends Schema.Schema.Type<typeof MessageColumns> {}

export const MessageRows = Changes.declareTable(MessageColumns)({
  name: "messages",
  key: { conversation_id: "uuid", id: "uuid" }
})

// ----------------------------------------------------------- decisions

/** The fields of a new message that differ between a send and a message of the network. */
type NewMessage = Pick<
  Message,
  | "conversation_id"
  | "details"
  | "direction"
  | "provider_message_id"
  | "sender"
  | "sent_at"
  | "status"
  | "text"
  | "type"
>

/** Returns a message before its first update, and without its file. */
export const newMessage = (fields: NewMessage, { now, uuid }: DecisionContext): Message => ({
  id: MessageId.make(uuid()),
  ...fields,
  media: null,
  created_at: now,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null
})

/** Returns a reported text; null if it is empty. */
export const reportedText = (text: string | null): string | null => text === "" ? null : text

/** The earliest time of a provider: a store need not support the years before 1. */
const provider_time_min = DateTime.makeUnsafe("0001-01-01T00:00:00.000Z")

/** The greatest difference between the provider's clock and the service's that is no error. */
const clock_difference_max = Duration.days(1)

/**
 * Returns a provider's time, or the year 1 for an earlier one, and now for one that is more than a day in the future.
 *
 * A time that is slightly in the future stays: the provider's times are compared with each other, and not with the service's.
 */
export const clamped = (at: Timestamp, now: Timestamp): Timestamp =>
  DateTime.isGreaterThan(at, DateTime.addDuration(now, clock_difference_max))
    ? now
    : DateTime.max(at, provider_time_min)

/** Returns the preview of a message, as lists of conversations and contacts show it (contract §10.8). */
export const previewOf = ({ deleted_at, text, type }: Pick<Message, "deleted_at" | "text" | "type">): string =>
  deleted_at === null ? preview(text ?? `[${type}]`) : "[deleted]"
