/**
 * The updates that a provider reports for a message, in any order and more than once (contract §11.4 to §11.7).
 */
import { DateTime, Schema } from "effect"
import { Text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { Message, MessageStatus } from "./Message.ts"
import { Failure, type MessageDetails } from "./MessageDetails.ts"

// ---------------------------------------------------------------- data

/** A status of an outbound message as the provider reports it, with its time. */
export const StatusUpdate = Schema.Struct({
  status: Schema.Literals(["sent", "delivered", "read", "failed"]),
  at: Timestamp,
  /** Why the message failed, if the provider reports it. */
  failure: Schema.optionalKey(Failure)
})
export interface StatusUpdate extends Schema.Schema.Type<typeof StatusUpdate> {}

/** Schema for an edit: the author changed the text. */
export const EditUpdate = Schema.Struct({ status: Schema.Literal("edited"), text: Schema.NullOr(Text), at: Timestamp })

/** Schema for a deletion: the author deleted the message. */
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
const applyEdit = <M extends Updatable>(message: M, { at, text }: typeof EditUpdate.Type): M =>
  message.edited_at !== null && DateTime.isLessThanOrEqualTo(at, message.edited_at)
    ? message
    : { ...message, text: message.deleted_at === null ? text : null, edited_at: at }

/** Applies a deletion: removes the text and the file. */
const applyDeletion = <M extends Updatable>(message: M, at: Timestamp): M => {
  const deleted_at = earliest(message.deleted_at, at)
  if (deleted_at === message.deleted_at) return message
  return { ...message, text: null, media: null, details: failureOnly(message.details?.failure), deleted_at }
}

const failureOnly = (failure: Failure | undefined): MessageDetails | null => failure === undefined ? null : { failure }

/** Returns what failures are ordered by, so that of two at the same time the same one is stored in any order of reports. */
const orderOf = ({ code, description, title }: Failure): string => JSON.stringify([code, title, description])

/** Returns the message with the failure of the earliest report. */
const withEarliestFailure = <M extends Updatable>(message: M, { at, failure }: StatusUpdate): M => {
  const { details, failed_at } = message
  const known = details?.failure
  if (failed_at === null || DateTime.isLessThan(at, failed_at)) {
    const { failure: _, ...others } = details ?? {}
    const changed = { ...others, ...failureOnly(failure) }
    return { ...message, details: Object.keys(changed).length === 0 ? null : changed }
  }
  const isStored = failure !== undefined && DateTime.Equivalence(at, failed_at) &&
    (known === undefined || orderOf(failure) < orderOf(known))
  return isStored ? { ...message, details: { ...details, failure } } : message
}

/**
 * Applies a status: its time is the earliest that was reported. Whatever happened to a message, it was sent before: so
 * `sent_at` becomes a time of the provider even if the provider did not report when it was sent.
 */
const applyStatus = <M extends Updatable>(message: M, update: StatusUpdate): M => {
  const { at, status } = update
  const name = `${status}_at` as const
  const explained = status === "failed" ? withEarliestFailure(message, update) : message
  const sent_at = earliest(message.sent_at, at)
  const moved: M = { ...explained, sent_at, [name]: earliest(message[name], at) }
  const isMoved = moved[name] !== message[name] || sent_at !== message.sent_at
  return isMoved ? { ...moved, status: statusOf(moved) } : explained
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
      return applyEdit(message, update)
    case "deleted":
      return applyDeletion(message, update.at)
    case "sent":
    case "delivered":
    case "read":
    case "failed":
      return message.direction === "inbound" ? message : applyStatus(message, update)
    default:
      return message
  }
}
