/**
 * Bodies that nobody would write: of every kind in `DocumentedKinds.ts`, with random values, and broken in one place.
 *
 * A kind that is added to the tables is covered without a change here.
 */
import { Array, DateTime, Effect, Random } from "effect"
import {
  meaningIn,
  messaging_event_fields,
  messaging_events,
  whatsapp_fields,
  whatsapp_messages,
  whatsapp_statuses,
  whatsapp_system
} from "../src/Callback/DocumentedKinds.ts"
import { documented } from "../test/Documented.ts"

/** The time of every event. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const millis = noon.epochMilliseconds
const timestamp = String(millis / 1000)
const person = "551188887777"

type Json = Readonly<Record<string, unknown>>
/** An item at one place of an entry, and the entry around it with messages that must stay intact. */
interface Victim {
  readonly item: Json
  readonly entryOf: (item: unknown, intact: ReadonlyArray<object>) => object
}

interface Kind {
  readonly object: "instagram" | "page" | "whatsapp_business_account"
  readonly name: string
  /** Whether an item of this kind can be a message. */
  readonly isMessage: boolean
  /** Makes an item of this kind, with a part that may be anything. */
  readonly make: (account: string, id: string, part: unknown) => Victim
}

// ------------------------------------------------------------ messages that nothing may change

const numberOf = (account: string) => ({ display_phone_number: "15550783881", phone_number_id: account })
const contacts = [{ profile: { name: "Ana", username: "ana.l" }, wa_id: person, user_id: "BR.1349" }]

const good = (object: Kind["object"], account: string, id: string): object =>
  object === "whatsapp_business_account"
    ? { from: person, id, timestamp, type: "text", text: { body: `Oi ${id}` } }
    : { sender: { id: "24601" }, recipient: { id: account }, timestamp: millis, message: { mid: id, text: `Oi ${id}` } }

const changeOf = (account: string, field: string, value: object) => ({
  field,
  value: { messaging_product: "whatsapp", metadata: numberOf(account), ...value }
})

const goodEntry = (object: Kind["object"], account: string, intact: ReadonlyArray<object>): object =>
  object === "whatsapp_business_account"
    ? { id: "1", changes: [changeOf(account, "messages", { contacts, messages: intact })] }
    : { id: account, time: millis, messaging: intact }

// ------------------------------------------------------------ kinds

/** Returns the documented kinds of a table, and one that no network has yet. */
const namesOf = (kinds: Json): ReadonlyArray<string> => [...Object.keys(kinds), "hologram"]

/** Merges a part into an object, if it is one. */
const objectOf = (part: unknown): object =>
  typeof part === "object" && part !== null && !Array.isArray(part) ? part : { part }

const among = (item: unknown, [first, ...more]: ReadonlyArray<object>) =>
  first === undefined ? [item] : [first, item, ...more]

type Place = readonly [
  field: string,
  value: (item: unknown, intact: ReadonlyArray<object>) => object
]

/** Where messages of WhatsApp are. */
const places: ReadonlyArray<Place> = [
  ["messages", (item, intact) => ({ contacts, messages: among(item, intact) })],
  ["standby", (item, intact) => ({ standby: { contacts, messages: among(item, intact) } })],
  ["standby", (item, intact) => ({ standby: { contacts, message_echoes: [item], messages: intact } })],
  ["smb_message_echoes", (item) => ({ contacts, message_echoes: [item] })],
  ["message_echoes", (item) => ({ contacts, message_echoes: [item] })]
]

const inPlace = (account: string, [field, valueOf]: Place): Victim["entryOf"] => (item, intact) => {
  const holdsIntact = JSON.stringify(valueOf(item, intact)) !== JSON.stringify(valueOf(item, []))
  const change = changeOf(account, field, valueOf(item, intact))
  return {
    id: "1",
    changes: holdsIntact ? [change] : [change, changeOf(account, "messages", { contacts, messages: intact })]
  }
}

const messageOf = (id: string, type: string, part: unknown): Json => ({
  from: person,
  to: person,
  id,
  timestamp,
  type,
  [type]: part,
  context: part,
  errors: [part]
})

const whatsApp = (name: string, isMessage: boolean, make: Kind["make"]): Kind => ({
  object: "whatsapp_business_account",
  name,
  isMessage,
  make
})

const messageKinds = places.flatMap((place) =>
  namesOf(whatsapp_messages).map((type) =>
    whatsApp(
      `${place[0]}: ${type}`,
      (meaningIn(whatsapp_messages, type) ?? "message") === "message",
      (account, id, part) => ({ item: messageOf(id, type, part), entryOf: inPlace(account, place) })
    )
  )
)

const systemKinds = places.flatMap((place) =>
  namesOf(whatsapp_system).map((type) =>
    whatsApp(`${place[0]}: system: ${type}`, false, (account, id, part) => ({
      item: { ...messageOf(id, "system", undefined), system: { ...objectOf(part), type } },
      entryOf: inPlace(account, place)
    }))
  )
)

const statusKinds = [...namesOf(whatsapp_statuses), undefined].flatMap((type) =>
  ["sent", "delivered", "read", "failed", "played", "hologram"].map((status) =>
    whatsApp(`status: ${type}: ${status}`, false, (account, id, part) => ({
      item: {
        id,
        type,
        status,
        timestamp,
        recipient_id: person,
        errors: [part],
        biz_opaque_callback_data: part,
        conversation: part
      },
      entryOf: inPlace(account, ["messages", (item, intact) => ({ contacts, statuses: [item], messages: intact })])
    }))
  )
)

const isApart = (field: string) => !["message", "echo"].includes(meaningIn(whatsapp_fields, field) ?? "")

const fieldKinds = namesOf(whatsapp_fields).filter(isApart).map((field) =>
  whatsApp(`field: ${field}`, false, (account, id, part) => ({
    item: {
      [field]: [part],
      event: part,
      ...objectOf(part),
      messages: [good("whatsapp_business_account", account, id)]
    },
    entryOf: inPlace(account, [field, (item) => objectOf(item)])
  }))
)

const messengerKinds = (["instagram", "page"] as const).flatMap((object): ReadonlyArray<Kind> => {
  const eventOf = (account: string, name: string, part: unknown): Json => ({
    sender: { id: "24601" },
    recipient: { id: account },
    timestamp: millis,
    [name]: part
  })
  const kind = (name: string, isMessage: boolean, make: Kind["make"]): Kind => ({
    object,
    name: `${object}: ${name}`,
    isMessage,
    make
  })
  const events = ["messaging", "standby"].flatMap((list) =>
    namesOf(messaging_events).map((name) =>
      kind(`${list}: ${name}`, meaningIn(messaging_events, name) === "message", (account, id, part) => ({
        item: eventOf(account, name, { mid: id, ...objectOf(part) }),
        entryOf: (item, intact) => ({ id: account, time: millis, [list]: among(item, intact) })
      }))
    )
  )
  const changes = [...messaging_event_fields, "comments", "feed", "hologram"].map((field) =>
    kind(`change: ${field}`, messaging_event_fields.has(field), (account, id, part) => ({
      item: eventOf(account, "message", { mid: id, ...objectOf(part) }),
      entryOf: (value, intact) => ({ id: account, changes: [{ field, value }], messaging: intact })
    }))
  )
  return [...events, ...changes]
})

/** Every kind of item that a network could sign. */
export const kinds: ReadonlyArray<Kind> = [
  ...messageKinds,
  ...systemKinds,
  ...statusKinds,
  ...fieldKinds,
  ...messengerKinds
]

// ------------------------------------------------------------ random parts

const nested = (depth: number): unknown => depth === 0 ? [] : [nested(depth - 1)]

/** Values that replace parts of a body. */
const strange: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "\u0000",
  "\ud800",
  "%_\\\"'$1\u0130\u00DF\u1E9E\uFB01e\u0301\u05D0\u200D\uFFFD\u{1F600}",
  "x".repeat(10_000),
  "9".repeat(40),
  [],
  [[[]]],
  [null, 1, {}],
  nested(2000),
  {},
  { __proto__: null, constructor: { prototype: 1 } },
  { id: { id: { id: {} } } }
]

/** The values of a documented callback, by the fields that have them. */
const fieldsIn = (value: unknown): ReadonlyArray<readonly [name: string, value: unknown]> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => [[name, inner] as const, ...fieldsIn(inner)])
    : []

const known = documented.flatMap(({ entry }) => fieldsIn(entry("1", "wamid.0"))).filter(([name]) => !/^\d+$/.test(name))
const vocabulary = Array.fromIterable(Map.groupBy(known, ([name]) => name).values())

const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => Array.getUnsafe(values, index))

const chance = (probability: number) => Effect.map(Random.next, (drawn) => drawn < probability)

/** Returns any JSON, made of what the networks document and of what nobody would write. */
const tree: (depth: number) => Effect.Effect<unknown> = Effect.fnUntraced(function*(depth) {
  if (depth === 0 || (yield* chance(0.2))) return yield* pick(strange)
  const size = yield* Random.nextIntBetween(0, 4)
  const parts = yield* Effect.forEach(
    Array.makeBy(size, (index) => index),
    Effect.fnUntraced(function*() {
      const [name, value] = yield* Effect.flatMap(pick(vocabulary), pick)
      return [name, (yield* chance(0.5)) ? value : yield* tree(depth - 1)] as const
    })
  )
  return (yield* chance(0.8)) ? Object.fromEntries(parts) : parts.map(([, value]) => value)
})

/** Returns a value that a documented field of this name has, or any. */
const partOf = Effect.fnUntraced(function*(name: string) {
  const values = known.filter(([field]) => field === name).map(([, value]) => value)
  return values.length > 0 && (yield* chance(0.6)) ? yield* mutated(yield* pick(values)) : yield* tree(4)
})

type Path = ReadonlyArray<string>

/** Every place in a value. */
const placesIn = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  typeof value === "object" && value !== null && path.length < 20
    ? [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))]
    : [path]

const at = (value: unknown, path: Path): unknown => path.reduce((inner, key) => Object(inner)[key], value)

/** Returns a value with other values in one place: none, one, or several where the place is in a list. */
const replaced = (value: unknown, [key, ...rest]: Path, by: ReadonlyArray<unknown>): unknown => {
  if (key === undefined) return by[0]
  const entries = Object.entries(Object(value)).flatMap(([name, inner]): ReadonlyArray<readonly [string, unknown]> => {
    if (name !== key) return [[name, inner]]
    return rest.length > 0 ? [[name, replaced(inner, rest, by)]] : by.map((other) => [name, other])
  })
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

/** Returns a value with one place deleted, doubled, or in place of another, or with something strange there. */
const mutated = Effect.fnUntraced(function*(value: unknown) {
  const places = placesIn(value)
  const [place, other] = [yield* pick(places), yield* pick(places)]
  const by = yield* pick([[], [at(value, place), at(value, place)], [at(value, other)], [yield* pick(strange)]])
  return replaced(value, place, by)
})

// ------------------------------------------------------------ bodies

/**
 * Returns a body with an item of a kind that is changed in one place, and its other messages in a body of their own.
 *
 * `isOfKind`: the item is certainly of its kind, because only its part is changed. It depends on the seed of
 * `Random`, and on `index`, which is part of the ids in it.
 */
export const mutatedBody = Effect.fnUntraced(function*(account: string, index: number, given?: Kind) {
  const kind = given ?? (yield* pick(kinds))
  const { object } = kind
  const intact = [1, 2, 3].map((part) => good(object, account, `good.${index}.${part}`))
  const part = yield* partOf(kind.name.split(": ").at(-1) ?? "")
  const { entryOf, item } = kind.make(account, `${index}.0`, part)
  const apart = goodEntry(object, account, intact)
  const isOfKind = yield* chance(0.5)
  const entry = isOfKind
    ? [entryOf(item, intact)]
    : (yield* chance(0.5))
    ? [entryOf(yield* mutated(item), intact)]
    : [yield* mutated(entryOf(item, [])), apart]
  const text = yield* Effect.orElseSucceed(
    Effect.try(() => JSON.stringify({ object, entry })),
    () => JSON.stringify({ object, entry: [apart] })
  )
  return { text, intact: JSON.stringify({ object, entry: [apart] }), kind, isOfKind }
})
