/**
 * Callbacks: splits the bodies that networks post by person, and parses them into core's events.
 *
 * A body can be about several accounts, and repeat earlier items. Every item is parsed independently, so that an
 * unreadable one does not affect others.
 *
 * - Entry: an element of a body, about one account. It is a list of items: messages, statuses, and changes of people.
 * - Format: how the entries of one network are parsed and split (`EntryFormat`).
 * - Part: the entries of a body about the same people at the same account (`EntryPart`), which is stored on its own.
 * - Kind: the name that the network gives to a sort of item, such as `message:image`.
 * - Meaning: the result of an item of that kind, such as a message or a status (`Callback/DocumentedKinds.ts`).
 * - Ignored reason: the explanation of an item that has no result (`Ignored`), which is counted and logged.
 */
import { Option, Schema } from "effect"
import {
  type Arrival,
  combined,
  Entry,
  type EntryFormat,
  type EntryPart,
  ignored,
  type Parsed
} from "./Callback/Entry.ts"
import * as Messenger from "./Callback/Messenger.ts"
import * as WhatsApp from "./Callback/WhatsApp.ts"
import type { AccountKey } from "./CloudAccounts.ts"
import { Items, lenient } from "./GraphSchemas.ts"

export type { Arrival, Ignored, Parsed, ParsedEvent } from "./Callback/Entry.ts"
export type { FileReference } from "./Callback/MessageContent.ts"

const Body = Schema.Struct({ object: lenient(Schema.String), entry: lenient(Items) })

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(Body))
const decodeEntry = Schema.decodeUnknownOption(Entry)

/** The format of entries by the `object` of their body. */
const formats: Readonly<Record<string, EntryFormat>> = {
  whatsapp_business_account: WhatsApp.format,
  page: Messenger.format("page_messaging"),
  instagram: Messenger.format("photo_social")
}

const formatOf = (object: string): EntryFormat | undefined =>
  Object.hasOwn(formats, object) ? formats[object] : undefined

/** Returns the events and the ignored items of a body, or none if the body is not a callback. */
export const parse = (body: string, arrival: Arrival): Option.Option<Parsed> =>
  Option.map(decodeBody(body), ({ entry: entries = [], object = "" }) => {
    const format = formatOf(object)
    if (format === undefined) return ignored("unknown", `object:${object}`)
    return combined(entries.flatMap((entry): ReadonlyArray<Parsed> =>
      Option.match(decodeEntry(entry), {
        onNone: () => [ignored("unreadable", "entry")],
        onSome: (decoded) => format.parse(decoded, arrival)
      })
    ))
  })

/** A part of a body, which is itself a body. */
export interface BodyPart extends Omit<EntryPart, "entries"> {
  readonly body: Uint8Array
}

/** An account is not one of the people in its own part. */
const withoutAccount = (part: EntryPart): EntryPart => ({
  ...part,
  people: Array.from(new Set(part.people)).filter((id) => id !== part.account?.id).toSorted()
})

/** Returns the parts of an entry. One that cannot be split is kept, so that its items are counted when it is parsed. */
const splitEntry = (format: EntryFormat | undefined, entry: unknown): ReadonlyArray<EntryPart> => {
  const decoded = format === undefined ? Option.none() : decodeEntry(entry)
  const parts = format === undefined || Option.isNone(decoded) ? [] : format.split(decoded.value)
  return parts.length === 0 ? [{ account: null, people: [], entries: [entry] }] : parts.map(withoutAccount)
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** Returns entries as a body, or none if they are nested too deep to be encoded. */
const encodeBody = Option.liftThrowable((object: string | undefined, entry: ReadonlyArray<unknown>) =>
  encoder.encode(JSON.stringify({ object, entry }))
)

/**
 * Splits a body into one part per person and account, in the body's order. Returns none if the body is not a callback.
 *
 * A body can be about many people, and several organizations. Each part is stored on its own, so that an erasure removes
 * what one organization received from one person. Parsing the parts gives the events of the body. A body that is one
 * part stays as it is.
 */
export const split = (body: Uint8Array): Option.Option<ReadonlyArray<BodyPart>> =>
  Option.map(decodeBody(decoder.decode(body)), ({ entry: entries = [], object }) => {
    const parts = entries.flatMap((entry) => splitEntry(formatOf(object ?? ""), entry))
    const groups = Map.groupBy(parts, ({ account, people }) => JSON.stringify([account?.type, account?.id, people]))
    return Array.from(groups.values()).flatMap((group) => {
      const { account = null, people = [] } = group[0] ?? {}
      const bytes = groups.size === 1 ? Option.some(body) : encodeBody(object, group.flatMap(({ entries }) => entries))
      return Option.toArray(Option.map(bytes, (body) => ({ account, people, body })))
    })
  })

/** Groups items of callbacks by their account, in the order of the first item of each. */
export const groupByAccount = <A extends { readonly account: AccountKey | null }>(
  items: ReadonlyArray<A>
): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from(Map.groupBy(items, ({ account }) => JSON.stringify([account?.type, account?.id])).values())
