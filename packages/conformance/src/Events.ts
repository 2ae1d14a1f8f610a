/** Tests of the guarantees of `EventStore`. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { AnyEventType, EventStore, type ListedEvent, type StoredEvent } from "@messaging-crm/core/Events"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Effect } from "effect"
import * as Fixtures from "./Fixtures.ts"
import { after, type It } from "./Fixtures.ts"

export const suite = (it: It) => {
  it.effect("deletes events that are old enough, with their deliveries, up to the limit", () =>
    Effect.gen(function*() {
      const store = yield* Fixtures.withoutEvents(after(0))
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours)
      yield* Effect.forEach([-3, -2, -1], (millis) => Fixtures.raised(ours, to, millis))
      const young = yield* Fixtures.raised(ours, to, 0)
      assert.strictEqual(yield* store.purge(after(0), 2), 2)
      assert.strictEqual(yield* store.purge(after(0), 2), 1)
      assert.strictEqual(yield* store.purge(after(0), 2), 0)
      const left = yield* WebhookDeliveryStore.use((deliveries) => deliveries.list(ours, to.id, 9))
      assert.deepStrictEqual(left, [young])
    }))

  it.effect("lists events of some types since a time, newest first, then by id descending, a page at a time", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const types = ["message.sent", "conversation.closed", "webhook.test"] as const
      const rows = yield* Effect.forEach(
        [0, 2, 1, 2, 0, 2],
        (millis, index) => Fixtures.event({ created_at: after(millis), type: types[index % 3] ?? "message.sent" })
      )
      yield* Fixtures.write(ours, ...rows.map(Changes.raise))
      yield* Fixtures.write(theirs, Changes.raise(yield* Fixtures.event({ created_at: after(1) })))
      const sorted = rows.toSorted((a, b) =>
        b.created_at.epochMilliseconds - a.created_at.epochMilliseconds || (a.id < b.id ? 1 : -1)
      )
      for (const some of [AnyEventType.literals, types.slice(0, 1), types.slice(1), ["send.failed"] as const]) {
        for (const since of [null, after(1), after(2), after(3)]) {
          const expected = sorted.filter(({ created_at, type }) =>
            some.some((one) => one === type) &&
            (since === null || created_at.epochMilliseconds >= since.epochMilliseconds)
          )
          const oldest = sorted.toReversed().filter(({ created_at, type }) =>
            some.some((one) => one === type) && since !== null && created_at.epochMilliseconds < since.epochMilliseconds
          )
          for (const size of [1, 2, 9]) {
            const passed: Array<StoredEvent> = []
            for (let more = since !== null; more;) {
              const last = passed.at(-1)
              const from = last === undefined
                ? { at: after(-1), id: Fixtures.nil }
                : { at: last.created_at, id: last.id }
              const next = yield* store.next(ours, { types: some, until: since ?? after(9) }, { after: from, size })
              passed.push(...next)
              more = next.length > 0
            }
            assert.deepStrictEqual(passed, since === null ? [] : oldest.map((event) => Fixtures.stored(event)))
            const walked: Array<ListedEvent> = []
            for (let page = [] as ReadonlyArray<ListedEvent>;;) {
              const last = walked.at(-1)
              const from = last === undefined ? null : { at: last.created_at, id: last.id }
              page = yield* store.list(ours, { types: some, since }, { after: from, size })
              if (page.length === 0) break
              assert.isAtMost(page.length, size)
              walked.push(...page)
            }
            assert.deepStrictEqual(walked, expected.map(Fixtures.listed))
          }
        }
      }
    }))
}
