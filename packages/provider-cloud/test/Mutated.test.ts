/** Bodies that nobody would write are no defect (`MUTATED_BODIES=2000` for more). `npm run bench:ingress` posts more to a whole service. */
import { assert, layer } from "@effect/vitest"
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import { type Notice, read } from "@messaging-crm/provider-cloud/Callback"
import { Array, Effect, Option, Random, Schema } from "effect"
import { TestClock } from "effect/testing"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { mutatedBody, noon } from "../testing/MutatedBodies.ts"
import { over, Received, recorder } from "./Network.ts"

const bodies = Number(process.env["MUTATED_BODIES"] ?? 500)
/** How many are posted at once. */
const batch = 20
const seed = "mutated bodies"

const millis = noon.epochMilliseconds
const channel_id = "01990000-0000-7000-8000-000000000001"

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
          const made = yield* Effect.forEach(Array.range(first, first + batch - 1), (index) =>
            mutatedBody(channel_id, index))
          const post = (signature?: string) =>
            Effect.forEach(made, ({ text }) =>
              fake.postRaw(encoder.encode(text), signature), { concurrency: batch })
          assert.deepStrictEqual(new Set(yield* post(`sha256=${"0".repeat(64)}`)), new Set([401]))
          assert.deepStrictEqual(yield* core.events, [])
          assert.deepStrictEqual(new Set(yield* post()), new Set([200]))
          const events = yield* core.clear
          for (const event of events) assert.isTrue(isEvent(event), JSON.stringify(event))
          const found = new Set(events.map(keyOf))
          for (const { intact, text } of made) {
            const { notices } = Option.getOrThrow(read(intact, noon))
            for (const { event } of notices) assert.isTrue(found.has(keyOf(event)), text)
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
        const { text } = yield* mutatedBody(channel_id, index)
        assert.include([200, 400], yield* fake.postRaw(yield* cut(text)))
      }
    }).pipe(Random.withSeed(seed)))
})
