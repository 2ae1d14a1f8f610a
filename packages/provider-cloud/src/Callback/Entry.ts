/** Entries of callbacks: the form that all networks share, the events that they are parsed into, and their parts. */
import type { UnlocatedEvent } from "@messaging-crm/core/Inbound"
import { firstCharacters } from "@messaging-crm/core/Text"
import { type DateTime, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import { idOf, isObject, Items, lenient, NetworkId } from "../GraphSchemas.ts"
import type { Meaning } from "./DocumentedKinds.ts"
import type { FileReference } from "./MessageContent.ts"
import { echo_person_fields, person_fields, system_fields } from "./PersonFields.ts"

/** An entry of a callback: a list of changes (WhatsApp, sometimes Instagram) or of messaging events (Messenger, Instagram). */
export const Entry = Schema.Struct({
  id: lenient(NetworkId),
  changes: lenient(Items),
  messaging: lenient(Items),
  /** The messaging events while another app controls the conversation. */
  standby: lenient(Items)
})
export type Entry = typeof Entry.Type

/** An event of a callback, before the channel of its account is looked up. */
export interface ParsedEvent {
  readonly account: AccountKey
  readonly event: UnlocatedEvent
  /** The file of a received message. It is loaded later; until then the event has no bytes. */
  readonly file: FileReference | null
}

/**
 * An item of a callback that is ignored. `account`: it is about the business's
 * account. `nothing`: it is about neither messages nor people. `group`: it is
 * about a group. `unknown`: its kind is not documented. `unreadable`: it lacks
 * what its kind needs, such as the IDs of its account, sender or message.
 */
export interface Ignored {
  readonly reason: "account" | "group" | "nothing" | "unknown" | "unreadable"
  /** The sort of item and, after a colon, its kind as the network names it, such as `field:history`. */
  readonly kind: string
}

/** The events and the ignored items of a callback, or of one of its items. */
export interface Parsed {
  readonly events: ReadonlyArray<ParsedEvent>
  readonly ignored: ReadonlyArray<Ignored>
}

/** Makes the result of an item that is a single event. */
export const singleEvent = (account: AccountKey, event: UnlocatedEvent, file: FileReference | null = null): Parsed => ({
  events: [{ account, event, file }],
  ignored: []
})

/** The longest kind that is kept of what a network names. */
const kind_chars_max = 64

const cutKind = (kind: string): string => firstCharacters(kind, kind_chars_max)

/** Makes the result of an item that is ignored. */
export const ignored = (reason: Ignored["reason"], kind: string): Parsed => ({
  events: [],
  ignored: [{ reason, kind: cutKind(kind) }]
})

/** Makes the result of an ignored item, with the reason that follows from its meaning; without a documented meaning it is `unknown`. */
export const ignoredAs = (meaning: Meaning | undefined, kind: string): Parsed =>
  ignored(meaning === "account" || meaning === "nothing" ? meaning : "unknown", kind)

/** Combines the results of several items, in their order. */
export const combined = (items: ReadonlyArray<Parsed>): Parsed => ({
  events: items.flatMap(({ events }) => events),
  ignored: items.flatMap(({ ignored }) => ignored)
})

/** Returns the field of a change; undefined if it has none. */
export const fieldOf = (change: unknown): string | undefined => {
  const field = isObject(change) ? change["field"] : undefined
  if (field === undefined || field === null) return undefined
  return typeof field === "string" ? cutKind(field.toWellFormed()) : typeof field
}

const idsIn = (fields: ReadonlyArray<string>, value: unknown): ReadonlyArray<string> =>
  !isObject(value) ? [] : fields.flatMap((field) => {
    const named = value[field]
    const ids = isObject(named) ? [named["id"], named["previous"], named["current"]] : [named]
    return ids.flatMap((id) => id === undefined ? [] : idOf(id)?.replace(/^\+/, "") ?? [])
  })

const idsInItem = (fields: ReadonlyArray<string>) => (item: unknown): ReadonlyArray<string> => {
  const { message = null, system = null } = isObject(item) ? item : {}
  return [...idsIn(fields, item), ...idsIn(fields, message), ...idsIn(system_fields, system)]
}

/** Returns the IDs of the senders and recipients of an item of a callback, without a plus sign. */
export const personIdsIn: (item: unknown) => ReadonlyArray<string> = idsInItem(person_fields)

/** Returns those of an echo, which the business sent. Otherwise its number would be one of the people of every echo. */
export const personIdsInEcho: (item: unknown) => ReadonlyArray<string> = idsInItem(echo_person_fields)

/** Entries about the same people at the same account. */
export interface EntryPart {
  /** Null if the entries name no account. */
  readonly account: AccountKey | null
  /** The IDs of the senders and recipients, without a plus sign. */
  readonly people: ReadonlyArray<string>
  readonly entries: ReadonlyArray<unknown>
}

/** The time of receipt of a callback, which is the default time of its items. */
export interface Arrival {
  readonly received_at: DateTime.Utc
}

/** The format of the entries of one network. */
export interface EntryFormat {
  readonly parse: (entry: Entry, arrival: Arrival) => ReadonlyArray<Parsed>
  /** Returns the entry as one part for each of its items. Only IDs are read: `parse` decides what an item means. */
  readonly split: (entry: Entry) => ReadonlyArray<EntryPart>
}
