/**
 * Callbacks: translates the bodies that networks post into core's events.
 *
 * A body may contain parts for several accounts, and repeat earlier ones. Every
 * part is read independently, so that an unreadable one does not affect others.
 * `Callback/Kinds.ts` lists what becomes a message.
 */
import { type DateTime, Option, Schema } from "effect"
import { all, ignored, type Notices } from "./Callback/Notice.ts"
import { type PartOf, split } from "./Callback/Parts.ts"
import * as Phone from "./Callback/Phone.ts"
import * as Social from "./Callback/Social.ts"
import { Items, lenient, NetworkId } from "./Wire.ts"

export type { FileReference, Ignored, Notice, Notices } from "./Callback/Notice.ts"
export type { PartOf } from "./Callback/Parts.ts"

const Entry = Schema.Struct({
  id: lenient(NetworkId),
  changes: lenient(Items),
  messaging: lenient(Items),
  /** Messages of a page while another app controls the conversation. */
  standby: lenient(Items)
})

const Body = Schema.Struct({ object: lenient(Schema.String), entry: lenient(Items) })

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(Body))
const decodeEntry = Schema.decodeUnknownOption(Entry)

/** The reader of each network's entries, by the `object` of the body. */
const readers: Readonly<
  Record<string, (entry: typeof Entry.Type, received_at: DateTime.Utc) => ReadonlyArray<Notices>>
> = {
  whatsapp_business_account: ({ changes = [] }, received_at) =>
    changes.map((change) => Phone.read(change, received_at)),
  page: (entry, received_at) => social("page_messaging", entry, received_at),
  instagram: (entry, received_at) => social("photo_social", entry, received_at)
}

const social = (
  type: Social.SocialType,
  { changes = [], id, messaging = [], standby = [] }: typeof Entry.Type,
  received_at: DateTime.Utc
): ReadonlyArray<Notices> => [
  ...[...messaging, ...standby].map((item) => Social.read(type, id ?? null, item, received_at)),
  ...changes.map((change) => Social.readChange(type, id ?? null, change, received_at))
]

/**
 * Reads the notices of a body. None where it is not a callback.
 *
 * A part without a time has the time `received_at`.
 */
export const read = (body: string, received_at: DateTime.Utc): Option.Option<Notices> =>
  Option.map(decodeBody(body), ({ entry = [], object = "" }) => {
    const reader = Object.hasOwn(readers, object) ? readers[object] : undefined
    const parts = reader === undefined
      ? [ignored("unknown", `object:${object}`)]
      : entry.flatMap((item): ReadonlyArray<Notices> =>
        Option.match(decodeEntry(item), {
          onNone: () => [ignored("unreadable", "entry")],
          onSome: (entry) => reader(entry, received_at)
        })
      )
    return all(parts)
  })

/** A part of a body, which is itself a body. */
export interface BodyPart extends PartOf {
  readonly body: Uint8Array
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder("utf-8", { ignoreBOM: true })]

/** Returns a part as a body; none for one that is nested too deep to be written. */
const written = Option.liftThrowable((object: string | undefined, entry: ReadonlyArray<unknown>) =>
  encoder.encode(JSON.stringify({ object, entry }))
)

/**
 * Splits a body into one for each person at each account. None where it is not a callback.
 *
 * Reading the parts gives the notices of the body. A body that is one part stays as it is.
 */
export const partsOf = (body: Uint8Array): Option.Option<ReadonlyArray<BodyPart>> =>
  Option.map(decodeBody(decoder.decode(body)), ({ entry = [], object }) => {
    const parts = split(object, entry)
    return parts.length === 1
      ? parts.map(({ account, people }) => ({ account, people, body }))
      : parts.flatMap(({ account, entry, people }) =>
        Option.toArray(Option.map(written(object, entry), (body) => ({ account, people, body })))
      )
  })
