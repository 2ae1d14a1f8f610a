/** Tests of the bytes that a process counts for each organization, and of when it adds them to the database's sum. */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import type { RaisedEvent } from "@messaging-crm/core/Changes"
import { ContactId, EventId, OrganizationId, WebhookId } from "@messaging-crm/core/Ids"
import {
  StorageBudget,
  StorageUse,
  StorageUseStore,
  storedBy,
  storedResponseBody
} from "@messaging-crm/core/StorageUse"
import { newDelivery, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { DateTime, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

const idOf = (n: number) => OrganizationId.make(`01990000-0000-7000-8000-${String(n).padStart(12, "0")}`)
const ours = idOf(1)
const megabyte = 1_000_000

/** A store that records its calls, and can fail. */
const scene = (budget = 10 * megabyte) => {
  const added: Array<{ readonly bytes: number; readonly expires_at: DateTime.Utc }> = []
  const purged: Array<readonly [number, number]> = []
  const state = { sum: 0, fails: false }
  const store = Layer.succeed(StorageUseStore, {
    add: (_organization_id, use) =>
      Effect.sync(() => {
        if (state.fails) throw new Error("The database is down.")
        added.push(use)
        return state.sum += use.bytes
      }),
    purge: (before, limit) => Effect.sync(() => purged.push([before.epochMilliseconds, limit]))
  })
  const layer = StorageUse.layer.pipe(Layer.provide(store), Layer.provide(Layer.succeed(StorageBudget, budget)))
  return { added, purged, state, layer, bytesAdded: () => added.map(({ bytes }) => bytes) }
}

const day = Duration.hours(24)
const count = (bytes: number, organization_id = ours) =>
  Effect.andThen(StorageUse.use((use) => use.count(organization_id, [{ bytes, age_max: day }])), Effect.yieldNow)
const isExhausted = Effect.isFailure(StorageUse.use((use) => use.require(ours)))

describe("the bytes of an organization", () => {
  it.effect("are added at once at first, and then a megabyte at a time", () => {
    const { bytesAdded, layer } = scene()
    return Effect.gen(function*() {
      for (const bytes of [7, megabyte - 1, 1, 5]) yield* count(bytes)
      assert.deepStrictEqual(bytesAdded(), [7, megabyte])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are added once by requests that exceed the megabyte together", () => {
    const { bytesAdded, layer } = scene()
    return Effect.gen(function*() {
      yield* count(7)
      yield* Effect.all([megabyte, 1, 2, 3].map((bytes) => count(bytes)), { concurrency: "unbounded" })
      assert.deepStrictEqual(bytesAdded(), [7, megabyte])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are counted under the hour in which all of them have expired", () => {
    const { added, layer } = scene()
    return Effect.gen(function*() {
      const expiries = [0, 3_599_999, 3_600_000].map((millis) => TestClock.setTime(millis))
      for (const [index, setTime] of expiries.entries()) yield* Effect.andThen(setTime, count(1, idOf(index)))
      assert.deepStrictEqual(
        added.map(({ expires_at }) => Duration.toHours(expires_at.epochMilliseconds)),
        [25, 25, 26]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("are used up when they reach the budget, with those that are not in the sum yet", () => {
    const { bytesAdded, layer, state } = scene(1000)
    return Effect.gen(function*() {
      assert.isFalse(yield* isExhausted)
      for (const bytes of [1, 998]) yield* count(bytes)
      assert.isFalse(yield* isExhausted)
      assert.deepStrictEqual(bytesAdded(), [1])
      yield* count(1)
      const { limit } = yield* Effect.flip(StorageUse.use((use) => use.require(ours)))
      assert.strictEqual(limit, 1000)
      assert.deepStrictEqual(bytesAdded(), [1, 999])
      assert.isTrue(yield* isExhausted)
      // Some have expired, which only the database knows.
      state.sum = 10
      assert.isFalse(yield* isExhausted)
      assert.deepStrictEqual(bytesAdded(), [1, 999, 0, 0])
    }).pipe(Effect.provide(layer))
  })

  it.effect("stay counted while the database is down, and are added another megabyte later", () => {
    const { bytesAdded, layer, state } = scene(1.5 * megabyte)
    return Effect.gen(function*() {
      state.fails = true
      yield* count(7)
      state.fails = false
      yield* count(megabyte - 1)
      assert.deepStrictEqual(bytesAdded(), [])
      yield* count(1)
      assert.deepStrictEqual(bytesAdded(), [megabyte + 7])
      state.fails = true
      yield* count(megabyte)
      assert.isTrue(yield* isExhausted)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are counted for 10,000 organizations: those of the oldest are added to the sum, and read again", () => {
    const { bytesAdded, layer } = scene()
    const addedSince = (calls: number) => bytesAdded().slice(calls)
    return Effect.gen(function*() {
      for (let n = 1; n <= 10_000; n++) yield* count(1, idOf(n))
      yield* count(5)
      assert.lengthOf(bytesAdded(), 10_000)
      yield* count(2, idOf(10_001))
      yield* count(3, idOf(2))
      assert.deepStrictEqual(addedSince(10_000), [2, 5])
      yield* count(4)
      assert.deepStrictEqual(addedSince(10_002), [4, 3])
    }).pipe(Effect.provide(layer))
  })
})

it.effect("expired sums are deleted, 5,000 at a time", () => {
  const { layer, purged } = scene()
  return Effect.gen(function*() {
    yield* TestClock.setTime(9)
    yield* StorageUse.use(({ purge }) => purge)
    assert.deepStrictEqual(purged, [[9, 5000]])
  }).pipe(Effect.provide(layer))
})

describe("a commit", () => {
  const record: Changes.RecordedResponse = {
    key: "order-4711",
    fingerprint: "f".repeat(64),
    status: 200,
    body: "{}",
    sealed: false,
    request_id: "r-1",
    created_at: DateTime.makeUnsafe(7)
  }
  const contact_id = ContactId.make("01990000-0000-7000-8000-000000000004")
  const event: RaisedEvent = {
    id: EventId.make("01990000-0000-7000-8000-000000000003"),
    type: "contact.updated",
    body: "",
    created_at: DateTime.makeUnsafe(7),
    resource: null
  }

  /** Returns the bytes that a commit stores, each with the hours that they are kept. */
  const bytesAndHours = (...commit: Parameters<typeof storedBy>) =>
    storedBy(...commit).map(({ age_max, bytes }) => [bytes, Duration.toHours(age_max)])

  it("stores its record with its key and its index, and its events", () => {
    assert.deepStrictEqual(bytesAndHours({ response: { ...record, body: null } }), [[248, 72]])
    assert.deepStrictEqual(bytesAndHours({ response: { ...record, body: "x".repeat(1000) } }), [[1448, 72]])
    const raise = ["", "一"].map((body) => ({ ...event, body }))
    assert.deepStrictEqual(bytesAndHours({ raise }), [[240, 720], [244, 720]])
  })

  it("stores the resource of an event only where a webhook asks for it", () => {
    const resource = { name: "contact", value: { notes: "一" }, contact_id, message_id: null }
    const raise = [{ ...event, body: "{\"data\":{\"a\":1}}", resource }]
    const subscribed = { id: event.id, deliveries: 0, is_full: true }
    assert.deepStrictEqual(bytesAndHours({ raise }, [subscribed]), [[310, 720]])
    for (const other of [[], [{ ...subscribed, is_full: false }], [{ ...subscribed, id: EventId.make(contact_id) }]]) {
      assert.deepStrictEqual(bytesAndHours({ raise }, other), [[260, 720]])
    }
  })

  it("stores the deliveries of its events and those that it inserts, and the work", () => {
    const subscribed = [3, 4].map((deliveries) => ({ id: event.id, deliveries, is_full: false }))
    assert.deepStrictEqual(bytesAndHours({}, subscribed), [[7 * 520, 720], [7 * 600, 76]])
    const delivery = newDelivery(event, WebhookId.make(contact_id))
    const work = { kind: "webhook_delivery", lane: "l", ref: delivery.id, due_at: event.created_at } as const
    assert.deepStrictEqual(
      bytesAndHours(Changes.all(WebhookDeliveryRows.insert(delivery), Changes.enqueue(work))),
      [[520, 720], [600, 76]]
    )
  })

  it("stores of a delivery's response what the one before it did not", () => {
    const bytes = ([after, before]: ReadonlyArray<string | null>) =>
      storedResponseBody(after ?? null, before ?? null).bytes
    assert.deepStrictEqual([["一一一一", null], ["abcde", "abcd"], ["a", "abcd"], [null, "a"]].map(bytes), [
      15,
      2,
      0,
      0
    ])
  })
})
