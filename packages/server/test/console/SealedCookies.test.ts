/** Encrypted cookies: what makes them valid, and the rotation of their keys. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Option, Redacted, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as SealedCookies from "../../src/console/SealedCookies.ts"

const key = (fill: number) => Redacted.make(new Uint8Array(32).fill(fill))

const defaults = {
  keys: [key(1)],
  origin: "https://crm.example.com",
  purpose: "session",
  schema: Schema.String,
  time: Duration.hours(1)
}

const name = "__Host-messaging-crm-session"

const cookieWith = (options: Partial<typeof defaults> = {}) => SealedCookies.make({ ...defaults, ...options })

/** Returns the text of a cookie that one service sets. */
const sealed = Effect.fnUntraced(function*(options: Partial<typeof defaults> = {}) {
  const response = yield* cookieWith(options).set("content")(HttpServerResponse.empty())
  const [cookie] = Object.values(response.cookies.cookies)
  return cookie?.value ?? ""
})

const readBy = (options: Partial<typeof defaults>, text: string) =>
  Effect.map(cookieWith(options).read({ [name]: text }), Option.getOrNull)

it.effect("are read by the service that has set them, until they expire", () =>
  Effect.gen(function*() {
    const text = yield* sealed()
    assert.strictEqual(yield* readBy({}, text), "content")
    assert.notInclude(text, "content")
    assert.notStrictEqual(yield* sealed(), text)
    yield* TestClock.adjust("59 minutes")
    assert.strictEqual(yield* readBy({}, text), "content")
    yield* TestClock.adjust("1 minute")
    assert.isNull(yield* readBy({}, text))
  }))

it.effect("of another key, another purpose, or another origin are not read", () =>
  Effect.gen(function*() {
    const others = [{ keys: [key(2)] }, { purpose: "login" }, { origin: "https://other.example.com" }]
    for (const other of others) assert.isNull(yield* readBy({}, yield* sealed(other)), JSON.stringify(other))
  }))

it.effect("are set with the first key, and read with every key", () =>
  Effect.gen(function*() {
    const [old, both, added, next] = [[key(1)], [key(1), key(2)], [key(2), key(1)], [key(2)]]
    assert.strictEqual(yield* readBy({ keys: added }, yield* sealed({ keys: old })), "content")
    assert.strictEqual(yield* readBy({ keys: old }, yield* sealed({ keys: both })), "content")
    assert.isNull(yield* readBy({ keys: old }, yield* sealed({ keys: added })))
    assert.strictEqual(yield* readBy({ keys: next }, yield* sealed({ keys: added })), "content")
  }))
