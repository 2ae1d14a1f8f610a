/**
 * Invalid bodies cause no defect, lose no other message, and create no message that no person wrote.
 *
 * `MUTATED_ROUNDS=50 MUTATED_SEED=7` tries more. `npm run bench:ingress` posts such bodies to a whole service.
 */
import { assert, it, layer } from "@effect/vitest"
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { Array, Config, DateTime, Effect, Option, Random, Schema } from "effect"
import { TestClock } from "effect/testing"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { kinds, noon } from "../testing/ItemKinds.ts"
import { mutatedBody } from "../testing/MutatedBodies.ts"
import { Acme, allMessages, testAtAcme } from "./Acme.ts"
import { over, Received, recorder } from "./Network.ts"

/** How many bodies are posted at once. */
const batch = 20

const channel_id = "01990000-0000-7000-8000-000000000001"

const settings = Config.all({
  rounds: Config.withDefault(Config.Int("MUTATED_ROUNDS"), 3),
  seed: Config.withDefault(Config.String("MUTATED_SEED"), "mutated bodies")
})

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const isEvent = Schema.is(ProviderEvent)

const eventsIn = (text: string) => Option.getOrThrow(Callback.parse(text, { received_at: noon })).events

/** Returns the fields of an event, to be compared. */
const keyOf = (event: Callback.ParsedEvent["event"]): string =>
  JSON.stringify(
    { channel_id, ...event, ...("media" in event ? { media: event.media?.kind } : {}) },
    (_, value) => DateTime.isDateTime(value) ? DateTime.formatIso(value) : value
  )

const keysOf = (events: ReadonlyArray<Callback.ParsedEvent>) => events.map(({ event }) => keyOf(event)).toSorted()
const keysIn = (text: string) => keysOf(eventsIn(text))

const is_message = ({ event }: Callback.ParsedEvent): boolean =>
  event.event === "message_received" || event.event === "message_sent"

type Body = Effect.Success<ReturnType<typeof mutatedBody>>

const check = ({ intact, isOfKind, kind, text }: Body) => {
  const about = `${kind.name}: ${text.slice(0, 5000)}`
  const events = eventsIn(text)
  for (const { event } of events) assert.isTrue(isEvent({ channel_id, ...event }), about)
  const keys = keysOf(events)
  for (const key of keysIn(intact)) assert.lengthOf(keys.filter((other) => other === key), 1, about)
  if (isOfKind && !kind.is_message) assert.lengthOf(events.filter(is_message), 3, about)
  const split = Option.getOrThrow(Callback.split(encoder.encode(text))).map(({ account, body }) => {
    const events = eventsIn(decoder.decode(body))
    for (const event of events) assert.deepStrictEqual(event.account, account, about)
    return events
  })
  assert.deepStrictEqual(keysOf(split.flat()), keys, about)
}

it.effect(
  "a body with an item of any kind that is broken in any place has every other message once, and no further message",
  () =>
    Effect.gen(function*() {
      const { rounds, seed } = yield* settings
      for (let index = 0; index < rounds; index++) {
        for (const kind of kinds) {
          check(yield* Random.withSeed(mutatedBody(channel_id, index, kind), `${seed} ${kind.name} ${index}`))
        }
      }
    }),
  1_200_000
)

const cut = Effect.fnUntraced(function*(text: string) {
  const bytes = encoder.encode(text)
  const at = yield* Random.nextIntBetween(0, bytes.length - 1)
  const byte = yield* Random.nextIntBetween(0, 255)
  return (yield* Random.next) < 0.5 ? bytes.slice(0, at) : bytes.with(at, byte)
})

layer(over(recorder))("over HTTP", (it) => {
  it.effect(
    "a body of each kind causes no defect, loses no other message, and is rejected without a signature",
    () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(noon.epochMilliseconds)
        const fake = yield* FakeGraph
        const core = yield* Received
        yield* core.clear
        for (const some of Array.chunksOf(kinds, batch)) {
          const bodies = yield* Effect.forEach(some, (kind, index) => mutatedBody(channel_id, index, kind))
          const post = (signature?: string) =>
            Effect.forEach(bodies, ({ text }) => fake.postRaw(encoder.encode(text), signature), { concurrency: batch })
          assert.deepStrictEqual(new Set(yield* post(`sha256=${"0".repeat(64)}`)), new Set([401]))
          assert.deepStrictEqual(yield* core.events, [])
          assert.deepStrictEqual(new Set(yield* post()), new Set([200]))
          const received = new Set((yield* core.clear).map(keyOf))
          for (const { intact, text } of bodies) {
            for (const key of keysIn(intact)) assert.isTrue(received.has(key), text)
          }
        }
      }).pipe(Random.withSeed("mutated bodies"))
  )

  it.effect("a body that is cut off, or differs in one byte, causes no defect", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(noon.epochMilliseconds)
      const fake = yield* FakeGraph
      for (let index = 0; index < 100; index++) {
        const { text } = yield* mutatedBody(channel_id, index)
        assert.include([200, 400], yield* fake.postRaw(yield* cut(text)))
      }
    }).pipe(Random.withSeed("mutated bodies")))
})

testAtAcme(
  "a whole core stores the messages in the same body as a broken one, each once",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const accounts = yield* Acme
      const account = {
        whatsapp_business_account: accounts.phone_messaging,
        page: accounts.page_messaging,
        instagram: accounts.photo_social
      }
      const intact = yield* Effect.forEach(kinds, (kind, index) =>
        Effect.gen(function*() {
          const { intact, text } = yield* mutatedBody(account[kind.object], index, kind)
          assert.strictEqual(yield* fake.postRaw(encoder.encode(text)), 200, text)
          return eventsIn(intact)
        }))
      const ids = intact.flat().flatMap(({ event }) =>
        "provider_message_id" in event ? [event.provider_message_id] : []
      )
      const stored = (yield* allMessages).map(({ provider_message_id }) => provider_message_id)
      assert.deepStrictEqual(stored.filter((id) => id?.startsWith("good.")).toSorted(), ids.toSorted())
    }).pipe(Random.withSeed("mutated bodies"))
)
