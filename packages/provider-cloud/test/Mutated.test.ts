/** Bodies that nobody would write: 2,000 of them, each like a real one but for one place. */
import { assert, layer } from "@effect/vitest"
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import { type Notice, read } from "@messaging-crm/provider-cloud/Callback"
import { Array, DateTime, Effect, Option, Random, Schema } from "effect"
import { TestClock } from "effect/testing"
import { bodyOf, messagePart, type Part, phonePart, socialPart, statusPart } from "../src/fake/Bodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { over, Received, recorder } from "./Network.ts"

const bodies = 2000
/** How many are posted at once. */
const batch = 20
const seed = "mutated bodies"

const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const millis = noon.epochMilliseconds
const timestamp = String(millis / 1000)
const channel_id = "01990000-0000-7000-8000-000000000001"
const reference = "01990000-0000-7000-8000-00000000abcd"

/** Every kind of notice for a number, each with an ID of its own. */
const phone: ReadonlyArray<(id: string) => Part> = [
  ...[
    { type: "text", text: { body: "Oi 👋" }, context: { from: "1", id: "wamid.0" } },
    { type: "image", image: { id: "no such file", mime_type: "image/jpeg", caption: "Taj" } },
    { type: "audio", audio: { id: "no such file", mime_type: "audio/ogg; codecs=opus", voice: true } },
    { type: "location", location: { latitude: 37.44, longitude: -122.16, name: "Philz" } },
    { type: "contacts", contacts: [{ name: { formatted_name: "Kim" }, phones: [{ phone: "+1 555 0100" }] }] },
    { type: "interactive", interactive: { type: "list_reply", list_reply: { id: "l", title: "Late" } } },
    { type: "button", button: { payload: "x", text: "Stop" } },
    { type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } },
    { type: "order", order: { catalog_id: "c", product_items: [{ product_retailer_id: "p", quantity: 2 }] } },
    { type: "unsupported", errors: [{ code: 131051 }] },
    { type: "edit", edit: { original_message_id: "wamid.0", message: { type: "text", text: { body: "Olá" } } } },
    { type: "revoke", revoke: { original_message_id: "wamid.0" } }
  ].map((message) => (id: string) =>
    messagePart(channel_id, { wa_id: "551188887777", user_id: "BR.1349", name: "Ana", username: "ana.l" }, {
      id,
      timestamp,
      ...message
    })
  ),
  (id) =>
    phonePart(channel_id, {
      messages: [{
        from: "551188887777",
        id,
        timestamp,
        type: "system",
        system: { type: "user_changed_number", wa_id: "12195555358" }
      }]
    }),
  ...["sent", "delivered", "read", "failed", "played"].map((status) => (id: string) =>
    statusPart(channel_id, { id, status, timestamp: millis / 1000, recipient_id: "551188887777", reference })
  )
]

const social = (object: "instagram" | "page"): ReadonlyArray<(id: string) => Part> =>
  [
    (mid: string) => ({ message: { mid, text: "hi" } }),
    (mid: string) => ({
      message: { mid, text: "look", attachments: [{ type: "image", payload: { url: "no link" } }] }
    }),
    (mid: string) => ({ message: { mid, is_deleted: true } }),
    (mid: string) => ({ message: { mid, text: "hello", is_echo: true, metadata: reference } }),
    (mid: string) => ({ message_edit: { mid, text: "hi!", num_edit: 1 } }),
    (mid: string) => ({ postback: { mid, title: "Start", payload: "GO" } }),
    (mid: string) => ({ reaction: { mid, action: "react", emoji: "😍" } }),
    (mid: string) => ({ delivery: { mids: [mid], watermark: millis } }),
    (mid: string) => ({ read: { mid } })
  ].map((item) => (id: string) =>
    socialPart(object, { account: channel_id, person: channel_id, timestamp: millis, item: item(id) })
  )

const kinds = [phone, social("page"), social("instagram")]

/** What is put in the place of something else. */
const strange: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "\u0000",
  "\ud800",
  "x".repeat(10_000),
  "9".repeat(40),
  [],
  [[[]]],
  [null, 1, {}],
  {},
  { __proto__: null, constructor: { prototype: 1 } },
  { id: { id: { id: {} } } }
]

type Path = ReadonlyArray<string>

/** Every place in a value. */
const placesIn = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  typeof value === "object" && value !== null
    ? [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))]
    : [path]

/** Returns a value with something else in one place, or with nothing there. */
const replaced = (value: unknown, [key, ...rest]: Path, by: Option.Option<unknown>): unknown => {
  if (key === undefined) return Option.getOrNull(by)
  const entries = Object.entries(Object(value)).flatMap(([name, inner]): ReadonlyArray<readonly [string, unknown]> => {
    if (name !== key) return [[name, inner]]
    if (rest.length > 0) return [[name, replaced(inner, rest, by)]]
    return Option.match(by, { onNone: () => [], onSome: (other) => [[name, other]] })
  })
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => Array.getUnsafe(values, index))

/** Returns a body of four parts, one of them changed in one place, and the events of the others. */
const mutatedBody = Effect.fnUntraced(function*(index: number) {
  const kind = yield* pick(kinds)
  const parts = yield* Effect.forEach(
    [0, 1, 2, 3],
    (part) => Effect.map(pick(kind), (make) => make(`${index}.${part}`))
  )
  const [victim, ...intact] = parts
  if (victim === undefined) return assert.fail("There are no parts.")
  // The entry as it is written, so that every place of it can be the one.
  const entry: unknown = JSON.parse(bodyOf([victim])).entry[0]
  const place = yield* pick(placesIn(entry))
  const other = (yield* Random.next) < 0.2 ? Option.none() : Option.some(yield* pick(strange))
  const body = JSON.parse(bodyOf(intact))
  const at = yield* Random.nextIntBetween(0, 3)
  const text = JSON.stringify({ ...body, entry: body.entry.toSpliced(at, 0, replaced(entry, place, other)) })
  return { text, expected: Option.getOrThrow(read(bodyOf(intact), noon)).notices }
})

const encoder = new TextEncoder()
const isEvent = Schema.is(ProviderEvent)

const keyOf = (event: Notice["event"]): string => {
  const { channel_id: _, media: __, ...rest } = { channel_id: "", media: null, ...event }
  return JSON.stringify(rest, Object.keys(rest).toSorted())
}

const cut = Effect.fnUntraced(function*(text: string) {
  const bytes = encoder.encode(text)
  const at = yield* Random.nextIntBetween(0, bytes.length - 1)
  const byte = yield* Random.nextIntBetween(0, 255)
  return (yield* Random.next) < 0.5 ? bytes.slice(0, at) : bytes.with(at, byte)
})

layer(over(recorder))("mutated bodies", (it) => {
  it.effect(
    `${bodies} bodies changed in one place: no defect, nothing else in them lost, none taken in unsigned`,
    () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(millis)
        const fake = yield* FakeGraph
        const core = yield* Received
        for (let first = 0; first < bodies; first += batch) {
          const made = yield* Effect.forEach(Array.range(first, first + batch - 1), mutatedBody)
          const post = (signature?: string) =>
            Effect.forEach(made, ({ text }) => fake.postRaw(encoder.encode(text), signature), { concurrency: batch })
          assert.deepStrictEqual(new Set(yield* post(`sha256=${"0".repeat(64)}`)), new Set([401]))
          assert.deepStrictEqual(yield* core.events, [])
          assert.deepStrictEqual(new Set(yield* post()), new Set([200]))
          const events = yield* core.clear
          for (const event of events) assert.isTrue(isEvent(event), JSON.stringify(event))
          const found = new Set(events.map(keyOf))
          for (const { expected, text } of made) {
            for (const { event } of expected) assert.isTrue(found.has(keyOf(event)), text)
          }
        }
      }).pipe(Random.withSeed(seed)),
    120_000
  )

  it.effect("bodies that are cut off, or differ in one byte, are no defect", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(millis)
      const fake = yield* FakeGraph
      for (let index = 0; index < bodies / 10; index++) {
        const { text } = yield* mutatedBody(index)
        assert.include([200, 400], yield* fake.postRaw(yield* cut(text)))
      }
    }).pipe(Random.withSeed(seed)))
})
