/**
 * Callbacks: what a network posts, in core's words.
 *
 * One body may speak of several accounts, and repeat what others said. Every
 * part of it is read on its own, so that one that cannot be read takes no other
 * with it. What a person wrote in a way that is not known here becomes a message
 * of type `unsupported`.
 */
import { type DateTime, Option, Schema } from "effect"
import type { Notices } from "./Callback/Notice.ts"
import * as Phone from "./Callback/Phone.ts"
import * as Social from "./Callback/Social.ts"
import { Items, lenient, NetworkId } from "./Wire.ts"

export type { FileReference, Ignored, Notice, Notices } from "./Callback/Notice.ts"

const Entry = Schema.Struct({
  id: lenient(NetworkId),
  changes: lenient(Items),
  messaging: lenient(Items),
  /** What pages get while another app has the conversation in hand. */
  standby: lenient(Items)
})

const Body = Schema.Struct({ object: lenient(Schema.String), entry: lenient(Items) })

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(Body))
const decodeEntry = Schema.decodeUnknownOption(Entry)

/** What each network calls itself, and how its entries are read. */
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
 * Returns what a body tells of, or none where it is no callback at all.
 *
 * What bears no time of its own counts as of `received_at`.
 */
export const read = (body: string, received_at: DateTime.Utc): Option.Option<Notices> =>
  Option.map(decodeBody(body), ({ entry = [], object = "" }) => {
    const reader = Object.hasOwn(readers, object) ? readers[object] : undefined
    const parts = reader === undefined
      ? [{ notices: [], ignored: ["object" as const] }]
      : entry.flatMap((item): ReadonlyArray<Notices> =>
        Option.match(decodeEntry(item), {
          onNone: () => [{ notices: [], ignored: ["unreadable" as const] }],
          onSome: (entry) => reader(entry, received_at)
        })
      )
    return {
      notices: parts.flatMap(({ notices }) => notices),
      ignored: parts.flatMap(({ ignored }) => ignored)
    }
  })

/** Returns whether a body is a callback at all, whatever it tells. */
export const isCallback = (body: string): boolean => Option.isSome(decodeBody(body))
