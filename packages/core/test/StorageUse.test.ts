/** Tests of the bytes that a process counts for each organization, and of when it adds them to the database's sum. */
import { assert, describe, it } from "@effect/vitest"
import type { RecordedResponse } from "@messaging-crm/core/Changes"
import { ContactId, EventId, OrganizationId } from "@messaging-crm/core/Ids"
import type { RaisedEvent } from "@messaging-crm/core/RaisedEvents"
import { StorageBudget, StorageUse, StorageUseStore, storedBy } from "@messaging-crm/core/StorageUse"
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
  const record: RecordedResponse = {
    key: "order-4711",
    fingerprint: "f".repeat(64),
    status: 200,
    body: new TextEncoder().encode("{}"),
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

  it("stores its record with its keys, and so its events", () => {
    assert.deepStrictEqual(bytesAndHours({ response: { ...record, body: null } }), [[500, 72]])
    assert.deepStrictEqual(bytesAndHours({ response: record }), [[502, 72]])
    const raise = ["{}", "{\"a\":1}"].map((body) => ({ ...event, body }))
    assert.deepStrictEqual(bytesAndHours({ raise }), [[302, 720], [307, 720]])
  })

  it("stores the resource of an event only where a webhook asks for it", () => {
    const resource = { name: "contact", value: { notes: "一" }, contact_id, message_id: null }
    const raise = [{ ...event, body: "{\"data\":{\"a\":1}}", resource }]
    assert.deepStrictEqual(bytesAndHours({ raise }, [event.id]), [[358, 720]])
    assert.deepStrictEqual(bytesAndHours({ raise }), [[316, 720]])
  })
})
