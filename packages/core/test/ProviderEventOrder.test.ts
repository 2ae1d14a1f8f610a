import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { inOrderByPerson } from "@messaging-crm/core/ProviderEventOrder"
import { Deferred, Effect } from "effect"

const channel_id = ChannelId.make("01890000-0000-7000-8000-000000000001")
const at = Fixtures.noon
const person = (external_id: string) => ({ external_id, display_name: null, username: null })

const received = (id: string, from: string): ProviderEvent =>
  Fixtures.messageReceived({ channel_id, provider_message_id: id, sent_at: at, from: person(from) })
const edited = (id: string): ProviderEvent => ({
  event: "message_edited",
  channel_id,
  provider_message_id: id,
  text: "Hello",
  at
})
const changed = (before: string, after: string): ProviderEvent => ({
  event: "identity_changed",
  channel_id,
  former_external_id: before,
  now: person(after)
})

/** Processes events, of which the first does not end before `others` have. Returns the places of the events in the order of their ends. */
const endsAfter = Effect.fnUntraced(function*(others: number, events: ReadonlyArray<ProviderEvent>) {
  const ended: Array<number> = []
  const othersEnded = yield* Deferred.make<void>()
  yield* inOrderByPerson(events, { concurrency: 8 }, (event) =>
    Effect.gen(function*() {
      const place = events.indexOf(event)
      if (place === 0 && others > 0) yield* Deferred.await(othersEnded)
      ended.push(place)
      if (ended.length === others) yield* Deferred.succeed(othersEnded, undefined)
    }))
  return ended
})

it.effect("processes the events of different people and messages concurrently", () =>
  Effect.gen(function*() {
    const events = [received("m1", "kim"), received("m2", "lee"), edited("m3")]
    assert.deepStrictEqual(yield* endsAfter(2, events), [1, 2, 0])
  }))

for (
  const [name, events] of Object.entries({
    "two messages of a person": [received("m1", "kim"), received("m2", "kim")],
    "a message and its edit": [received("m1", "kim"), edited("m1")],
    "a message, and its edit after another message": [received("m1", "kim"), received("m2", "lee"), edited("m1")],
    "a person before and after the ID changed": [received("m1", "old"), changed("old", "new"), received("m2", "new")]
  })
) {
  it.effect(`keeps the order of ${name}`, () =>
    Effect.gen(function*() {
      const isSlow = new Set([0])
      const ended: Array<number> = []
      yield* inOrderByPerson(events, { concurrency: 8 }, (event) =>
        Effect.gen(function*() {
          const place = events.indexOf(event)
          for (let turn = 0; isSlow.has(place) && turn < 10; turn++) yield* Effect.yieldNow
          ended.push(place)
        }))
      const last = events.length - 1
      assert.isBelow(ended.indexOf(0), ended.indexOf(last))
    }))
}

it.effect("returns the results in the order of the events", () =>
  Effect.gen(function*() {
    const events = [received("m1", "kim"), received("m2", "lee"), received("m3", "kim")]
    const results = yield* inOrderByPerson(events, { concurrency: 8 }, (event) => Effect.succeed(events.indexOf(event)))
    assert.deepStrictEqual(results, [0, 1, 2])
  }))
