/**
 * Callbacks: splits the bodies that networks post by person, and reads core's events in them.
 *
 * A body may contain parts for several accounts, and repeat earlier ones. Every
 * part is read independently, so that an unreadable one does not affect others.
 * `Callback/Kinds.ts` lists what becomes a message.
 */
import { Option, Schema } from "effect"
import { type Arrival, Entry, ignored, joined, type Network, type Notices, type Part } from "./Callback/Notice.ts"
import * as Phone from "./Callback/Phone.ts"
import * as Social from "./Callback/Social.ts"
import { Items, lenient } from "./GraphJson.ts"

export type { Arrival, FileReference, Ignored, Notice, Notices } from "./Callback/Notice.ts"

const Body = Schema.Struct({ object: lenient(Schema.String), entry: lenient(Items) })

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(Body))
const decodeEntry = Schema.decodeUnknownOption(Entry)

/** Each network by the `object` of its bodies. */
const networks: Readonly<Record<string, Network>> = {
  whatsapp_business_account: Phone.network,
  page: Social.network("page_messaging"),
  instagram: Social.network("photo_social")
}

const networkOf = (object: string): Network | undefined =>
  Object.hasOwn(networks, object) ? networks[object] : undefined

/** Returns the notices of a body, or none if the body is not a callback. */
export const read = (body: string, arrival: Arrival): Option.Option<Notices> =>
  Option.map(decodeBody(body), ({ entry = [], object = "" }) => {
    const network = networkOf(object)
    if (network === undefined) return ignored("unknown", `object:${object}`)
    return joined(entry.flatMap((item): ReadonlyArray<Notices> =>
      Option.match(decodeEntry(item), {
        onNone: () => [ignored("unreadable", "entry")],
        onSome: (entry) => network.read(entry, arrival)
      })
    ))
  })

/** A part of a body, which is itself a body. */
export interface BodyPart extends Omit<Part, "entry"> {
  readonly body: Uint8Array
}

/** An account is not one of the people in its own part. */
const withoutAccount = (part: Part): Part => ({
  ...part,
  people: Array.from(new Set(part.people)).filter((id) => id !== part.account?.id).toSorted()
})

/** Returns the parts of an entry. One that cannot be split is kept, so that a reader counts it. */
const splitEntry = (network: Network | undefined, item: unknown): ReadonlyArray<Part> => {
  const entry = network === undefined ? Option.none() : decodeEntry(item)
  const parts = network === undefined || Option.isNone(entry) ? [] : network.split(entry.value)
  return parts.length === 0 ? [{ account: null, people: [], entry: [item] }] : parts.map(withoutAccount)
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder("utf-8", { ignoreBOM: true })]

/** Returns a part as a body, or none if it is nested too deep to be written. */
const written = Option.liftThrowable((object: string | undefined, entry: ReadonlyArray<unknown>) =>
  encoder.encode(JSON.stringify({ object, entry }))
)

/**
 * Splits a body into one part per person and account, in the body's order. Returns none if the body is not a callback.
 *
 * A body can hold notices of many people, and of several organizations. Each part is stored on its own, so that an
 * erasure removes what one organization received of one person. Reading the parts gives the notices of the body. A
 * body that is one part stays as it is.
 */
export const partsOf = (body: Uint8Array): Option.Option<ReadonlyArray<BodyPart>> =>
  Option.map(decodeBody(decoder.decode(body)), ({ entry = [], object }) => {
    const parts = entry.flatMap((item) => splitEntry(networkOf(object ?? ""), item))
    const groups = Map.groupBy(parts, ({ account, people }) => JSON.stringify([account?.type, account?.id, people]))
    return Array.from(groups.values()).flatMap((alike) => {
      const { account = null, people = [] } = alike[0] ?? {}
      const bytes = groups.size === 1 ? Option.some(body) : written(object, alike.flatMap(({ entry }) => entry))
      return Option.toArray(Option.map(bytes, (body) => ({ account, people, body })))
    })
  })
