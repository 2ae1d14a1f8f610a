/** Bodies that nobody would write: each like a real one but for one place. */
import { Array, DateTime, Effect, Option, Random } from "effect"
import { bodyOf, messagePart, type Part, phonePart, socialPart, statusPart } from "../src/fake/Bodies.ts"

/** The time of every notice. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const millis = noon.epochMilliseconds
const timestamp = String(millis / 1000)
const reference = "01990000-0000-7000-8000-00000000abcd"

/** Every kind of notice for a number, each with an ID of its own. */
const phone = (channel_id: string): ReadonlyArray<(id: string) => Part> => [
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

const social = (object: "instagram" | "page", channel_id: string): ReadonlyArray<(id: string) => Part> =>
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

const kindsOf = (account: string) => [phone(account), social("page", account), social("instagram", account)]

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

/**
 * Returns a body of four parts of an account, one of them changed in one place, and the body of the others alone.
 *
 * It depends on the seed of `Random`, and on `index`, which is part of the ids in it.
 */
export const mutatedBody = Effect.fnUntraced(function*(account: string, index: number) {
  const kind = yield* pick(kindsOf(account))
  const parts = yield* Effect.forEach(
    [0, 1, 2, 3],
    (part) => Effect.map(pick(kind), (make) => make(`${index}.${part}`))
  )
  const [victim, ...intact] = parts
  if (victim === undefined) return yield* Effect.die("There are no parts.")
  // The entry as it is written, so that every place of it can be the one.
  const entry: unknown = JSON.parse(bodyOf([victim])).entry[0]
  const place = yield* pick(placesIn(entry))
  const other = (yield* Random.next) < 0.2 ? Option.none() : Option.some(yield* pick(strange))
  const body = JSON.parse(bodyOf(intact))
  const at = yield* Random.nextIntBetween(0, 3)
  const text = JSON.stringify({ ...body, entry: body.entry.toSpliced(at, 0, replaced(entry, place, other)) })
  return { text, intact: bodyOf(intact) }
})
