/**
 * A message as callers see it, and the updates that a provider reports for it (contract §11).
 */
import { DateTime, Schema } from "effect"
import { ConversationId, MessageId } from "../kernel/Ids.ts"
import { jsonSchemaOnly, preview, Text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { LinkedMedia, MessageMedia } from "./Media.ts"
import { Failure, MessageDetails } from "./MessageDetails.ts"

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

/** A status of an outbound message as the provider reports it, with its time. */
export const StatusUpdate = Schema.Struct({
  status: Schema.Literals(["sent", "delivered", "read", "failed"]),
  at: Timestamp,
  /** Why the message failed, if the provider reports it. */
  failure: Schema.optionalKey(Failure)
})
export interface StatusUpdate extends Schema.Schema.Type<typeof StatusUpdate> {}

/** Returns a reported text; null if it is empty. */
export const reportedText = (text: string | null): string | null => text === "" ? null : text

/** The author edited the text, or deleted the message. */
export const EditUpdate = Schema.Struct({ status: Schema.Literal("edited"), text: Schema.NullOr(Text), at: Timestamp })
export const DeletionUpdate = Schema.Struct({ status: Schema.Literal("deleted"), at: Timestamp })

/** Schema for every kind of update that a provider reports for a message. */
export const MessageUpdate = Schema.Union([StatusUpdate, EditUpdate, DeletionUpdate])
export type MessageUpdate = typeof MessageUpdate.Type

// ----------------------------------------------------------- decisions

/** The fields that updates change. */
export const updated_fields = [
  "text",
  "media",
  "details",
  "status",
  "sent_at",
  "delivered_at",
  "read_at",
  "failed_at",
  "edited_at",
  "deleted_at"
] as const satisfies ReadonlyArray<keyof Message>

/** The fields that updates change, and the direction of the message, which decides whether they do. */
type Updatable = Pick<Message, "direction" | typeof updated_fields[number]>

/** An outbound message before its first update. */
export const not_updated: Updatable = {
  direction: "outbound",
  text: null,
  media: null,
  details: null,
  status: "sent",
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null
}

/** Returns the earlier time; the same object as `known` where the other is not earlier. */
const earliest = (known: Timestamp | null, other: Timestamp): Timestamp =>
  known !== null && DateTime.isLessThanOrEqualTo(known, other) ? known : other

const statusOf = (message: Pick<Message, "delivered_at" | "failed_at" | "read_at">): MessageStatus => {
  if (message.read_at !== null) return "read"
  if (message.delivered_at !== null) return "delivered"
  return message.failed_at !== null ? "failed" : "sent"
}

/** Applies an edit: the latest one sets the text, unless the message was deleted. */
const edit = <M extends Updatable>(message: M, { at, text }: typeof EditUpdate.Type): M =>
  message.edited_at !== null && DateTime.isLessThanOrEqualTo(at, message.edited_at)
    ? message
    : { ...message, text: message.deleted_at === null ? text : null, edited_at: at }

/** Applies a deletion: removes the text and the file. */
const erase = <M extends Updatable>(message: M, at: Timestamp): M => {
  const deleted_at = earliest(message.deleted_at, at)
  if (deleted_at === message.deleted_at) return message
  return { ...message, text: null, media: null, details: failureOnly(message.details?.failure), deleted_at }
}

const failureOnly = (failure: Failure | undefined): MessageDetails | null => failure === undefined ? null : { failure }

/** A total order, so that of two failures at the same time the same one is stored in any order of reports. */
const textOf = ({ code, description, title }: Failure): string => JSON.stringify([code, title, description])

/** Stores the failure of the earliest report. */
const explain = <M extends Updatable>(message: M, { at, failure }: StatusUpdate): M => {
  const { details, failed_at } = message
  const known = details?.failure
  if (failed_at === null || DateTime.isLessThan(at, failed_at)) {
    const { failure: _, ...others } = details ?? {}
    const now = { ...others, ...failureOnly(failure) }
    return { ...message, details: Object.keys(now).length === 0 ? null : now }
  }
  const isNews = failure !== undefined && DateTime.Equivalence(at, failed_at) &&
    (known === undefined || textOf(failure) < textOf(known))
  return isNews ? { ...message, details: { ...details, failure } } : message
}

const advance = <M extends Updatable>(message: M, update: StatusUpdate): M => {
  const { at, status } = update
  const name = `${status}_at` as const
  const explained = status === "failed" ? explain(message, update) : message
  const moved: M = { ...explained, [name]: earliest(message[name], at) }
  return moved[name] === message[name] ? explained : { ...moved, status: statusOf(moved) }
}

/**
 * Returns the message after an update.
 *
 * Each time is the earliest that was reported, the text is that of the latest
 * edit, and the status of an outbound message follows from the times. So any
 * order and any repetition of updates ends in the same message. The only exception:
 * of two edits with the same time, the first one is kept. `delivered` and `read`
 * replace `failed`; a deletion wins over every edit. An update without effect returns the same object,
 * so that a repeated report writes nothing. So does one that a newer version has
 * stored, with a status that is unknown here.
 */
export const applyUpdate = <M extends Updatable>(message: M, update: MessageUpdate): M => {
  switch (update.status) {
    case "edited":
      return edit(message, update)
    case "deleted":
      return erase(message, update.at)
    case "sent":
    case "delivered":
    case "read":
    case "failed":
      return message.direction === "inbound" ? message : advance(message, update)
    default:
      return message
  }
}

/** The earliest time of a provider: a store need not support the years before 1. */
const provider_time_min = DateTime.makeUnsafe("0001-01-01T00:00:00.000Z")

/** Returns a provider's time, or the nearest one from the year 1 until now: the provider's clock may be wrong. */
export const clamped = (at: Timestamp, now: Timestamp): Timestamp =>
  DateTime.clamp(at, { minimum: provider_time_min, maximum: now })

/** Returns the preview of a message, as lists of conversations and contacts show it (contract §10.8). */
export const previewOf = ({ deleted_at, text, type }: Pick<Message, "deleted_at" | "text" | "type">): string =>
  deleted_at === null ? preview(text ?? `[${type}]`) : "[deleted]"
