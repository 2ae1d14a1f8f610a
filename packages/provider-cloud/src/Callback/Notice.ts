/** A notice: one event of a callback, before its channel is looked up. */
import type { ProviderMessageReceived, UnlocatedEvent } from "@messaging-crm/core/Inbound"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { firstCharacters } from "@messaging-crm/core/Text"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import { isObject, Items, lenient, NetworkId } from "../GraphJson.ts"
import type { Meaning } from "./Kinds.ts"

/** A reference to a file on the network: an id on phone messaging, a URL on the other two. */
export type FileReference = { readonly media_id: string } | { readonly url: string }

export interface Notice {
  readonly account: AccountKey
  readonly event: UnlocatedEvent
  /** The file of a received message. It is loaded later; until then the event has no bytes. */
  readonly file: FileReference | null
}

/**
 * A part of a callback that is ignored. `account`: it is about the business's
 * account. `nothing`: it is about neither messages nor people. `group`: it is
 * about a group. `unknown`: its kind is not documented. `unreadable`: it lacks
 * what its kind needs, such as the ids of its account, sender or message.
 */
export interface Ignored {
  readonly reason: "account" | "group" | "nothing" | "unknown" | "unreadable"
  /** The meaning of the part and, after a colon, its kind as the network names it. */
  readonly kind: string
}

export interface Notices {
  readonly notices: ReadonlyArray<Notice>
  readonly ignored: ReadonlyArray<Ignored>
}

/** An entry of a body: a list of changes, or of items. */
export const Entry = Schema.Struct({
  id: lenient(NetworkId),
  changes: lenient(Items),
  messaging: lenient(Items),
  /** Messages of a page while another app controls the conversation. */
  standby: lenient(Items)
})
export type Entry = typeof Entry.Type

/** Entries of a body about the same people at the same account. */
export interface Part {
  /** Null if the entries name no account. */
  readonly account: AccountKey | null
  /** The ids of the senders and recipients, without a plus sign. */
  readonly people: ReadonlyArray<string>
  readonly entry: ReadonlyArray<unknown>
}

/** The app that signed a callback, and its time of receipt, which is the default time of its parts. */
export interface Arrival {
  readonly app_id: string
  readonly received_at: DateTime.Utc
}

/** The entries of one network. */
export interface Network {
  readonly read: (entry: Entry, arrival: Arrival) => ReadonlyArray<Notices>
  /** Returns the entry as one part for each of its items. Only ids are read: `read` decides what an item means. */
  readonly split: (entry: Entry) => ReadonlyArray<Part>
}

/** Returns the name of a type as messages keep it. */
export const providerType = (type: string): string => firstCharacters(type, 100)

/** The longest kind that is kept of what a network names. */
const kind_chars_max = 64

const cut = (kind: string): string => firstCharacters(kind, kind_chars_max)

/** Returns the field of a change; undefined if it has none. */
export const fieldOf = (change: unknown): string | undefined => {
  const field = isObject(change) ? change["field"] : undefined
  if (field === undefined || field === null) return undefined
  return typeof field === "string" ? cut(field.toWellFormed()) : typeof field
}

/** Makes the result of a part that is ignored. */
export const ignored = (reason: Ignored["reason"], kind: string): Notices => ({
  notices: [],
  ignored: [{ reason, kind: cut(kind) }]
})

/** Makes the result of a part of which nothing is ignored. */
export const noticesOf = (...notices: ReadonlyArray<Notice>): Notices => ({ notices, ignored: [] })

/** Combines the results of several parts, in their order. */
export const joined = (parts: ReadonlyArray<Notices>): Notices => ({
  notices: parts.flatMap(({ notices }) => notices),
  ignored: parts.flatMap(({ ignored }) => ignored)
})

/** Makes the result of an ignored part, with the reason that follows from its meaning; without a documented meaning it is `unknown`. */
export const ignoredAs = (meaning: Meaning | undefined, kind: string): Notices =>
  ignored(meaning === "account" || meaning === "nothing" ? meaning : "unknown", kind)

/** The content of a received message. */
export interface MessageContent extends Pick<ProviderMessageReceived, "media" | "text" | "type"> {
  readonly details: MessageDetails | null
  readonly file: FileReference | null
}

/** Makes the content of a message without a file. */
export const textContent = (
  type: MessageContent["type"],
  text: string | null,
  details: MessageDetails | null = null
): MessageContent => ({ type, text, media: null, details, file: null })

/** Adds details to a content, without replacing those that it has. */
export const withDetails = (content: MessageContent, details: MessageDetails): MessageContent => {
  const all = { ...details, ...content.details }
  return { ...content, details: Object.keys(all).length === 0 ? null : all }
}

const isNonEmpty = (value: string | null | undefined): value is string =>
  value !== undefined && value !== null && value !== ""

/** Returns the non-empty parts, one on each line, or null if there are none. */
export const lines = (...parts: ReadonlyArray<string | null | undefined>): string | null => {
  const given = parts.filter(isNonEmpty)
  return given.length === 0 ? null : given.join("\n")
}

/** Schema for a time as the networks write it: a number, or its digits as text. */
export const NetworkTime = Schema.Union([Schema.Number, Schema.String])

/** The smallest value that is read as milliseconds. In seconds it would be the year 33658. */
const millis_min = 1e12
const millis_max = 8.64e15

const iso = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})$/

/** Returns the time that a network gives in seconds or milliseconds, as a number or as text, or as an ISO date. */
export const timeIn = (moment: typeof NetworkTime.Type | undefined): Option.Option<Timestamp> => {
  if (typeof moment === "string" && iso.test(moment)) return DateTime.make(moment)
  const value = typeof moment === "string" && !/^[0-9]{1,16}$/.test(moment) ? NaN : Number(moment)
  const millis = value >= millis_min ? value : value * 1000
  return millis > 0 && millis <= millis_max ? DateTime.make(Math.trunc(millis)) : Option.none()
}

/** Returns the time that a network gives; else the fallback. */
export const timeOf = (moment: typeof NetworkTime.Type | undefined, fallback: DateTime.Utc): Timestamp =>
  Option.getOrElse(timeIn(moment), () => fallback)
