/** Tests of the guarantees of `CallbackStore`. The queue is global, so each test first empties it. */
import { assert } from "@effect/vitest"
import { CallbackRows, CallbackStore, type StoredCallback } from "@messaging-crm/core/CallbackInbox"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelId, Ids, type OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Arbitrary, DateTime, Effect, Option, Schema } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

/** Claims callbacks at a time after noon. */
const claim = Effect.fnUntraced(function*(millis = 0, limit = 100) {
  const now = afterNoon(millis)
  const options = { kind: "callback" as const, limit, now, lease_until: DateTime.add(now, { seconds: 60 }) }
  return yield* WorkQueue.use((queue) => Effect.flatMap(Fixtures.uuid, (token) => queue.claim({ ...options, token })))
})

const load = (claimed: ReadonlyArray<ClaimedWork>, millis = 0, since = -1) =>
  CallbackStore.use((store) => store.load(claimed, { now: afterNoon(millis), ordered_since: afterNoon(since) }))

/** Commits callbacks with their work. */
const insert = (organization_id: OrganizationId, callbacks: ReadonlyArray<StoredCallback>) =>
  Fixtures.mustCommit(
    organization_id,
    ...callbacks.flatMap((callback) => [
      CallbackRows.insert(callback),
      Changes.enqueue({ kind: "callback", lane: organization_id, ref: callback.id, due_at: callback.received_at })
    ])
  )

/** A callback from two people, received at a time after noon. */
const newCallback = Effect.fnUntraced(function*(body: Uint8Array, given: Partial<StoredCallback> = {}) {
  const id = yield* Ids.use(({ uuid }) => uuid)
  const people = ["4915112345678", "\"Kim\" \u{1f600}"]
  const channel_id = ChannelId.make(yield* Fixtures.uuid)
  return { id, source: "app \u{1f600}", channel_id, people, body, received_at: Fixtures.noon, ...given }
})

/** An empty queue, an organization, and the function that stores a callback of it. */
const start = Effect.gen(function*() {
  yield* Fixtures.emptyQueue
  const ours = yield* Fixtures.organization
  const store = Effect.fnUntraced(function*(...given: Parameters<typeof newCallback>) {
    const callback = yield* newCallback(...given)
    yield* insert(ours, [callback])
    return callback
  })
  return { ours, store }
})

const loadedBodies = (loaded: ReadonlyArray<Option.Option<{ readonly callback: StoredCallback }>>) =>
  loaded.map(Option.match({ onNone: () => null, onSome: ({ callback }) => callback }))

const bodies = (it: It, { runs }: Options) => {
  it.effect.prop("returns bodies as they were stored, in the order of the claimed work", {
    given: Arbitrary.array(Arbitrary.schema(Schema.Uint8Array), { minLength: 1, maxLength: 5 })
  }, ({ given }) =>
    Effect.gen(function*() {
      const { ours } = yield* start
      const callbacks = yield* Effect.forEach(given, (body, index) =>
        newCallback(body, index === 0 ? { channel_id: null, people: [] } : {}))
      yield* insert(ours, callbacks)
      const claimed = (yield* claim()).toReversed()
      const expected = claimed.map(({ ref }) =>
        callbacks.find(({ id }) => id === ref) ?? null
      )
      assert.lengthOf(claimed, given.length)
      assert.deepStrictEqual(loadedBodies(yield* load(claimed)), expected)
    }), { arbitrary: { runs } })

  it.effect("returns a body of 4 MB unchanged", () =>
    Effect.gen(function*() {
      const { store } = yield* start
      const callback = yield* store(new Uint8Array(4 * 1024 * 1024).map((_, index) => index % 251))
      assert.deepStrictEqual(loadedBodies(yield* load(yield* claim())), [callback])
    }))

  it.effect("returns none for a body that is deleted", () =>
    Effect.gen(function*() {
      const { ours, store } = yield* start
      const [deleted, kept] = [yield* store(Uint8Array.of(1)), yield* store(Uint8Array.of(2))]
      const claimed = yield* claim()
      yield* Fixtures.mustCommit(ours, CallbackRows.remove({ id: deleted.id }))
      const expected = claimed.map(({ ref }) => ref === kept.id ? kept : null)
      assert.deepStrictEqual(loadedBodies(yield* load(claimed)), expected)
    }))

  it.effect("counts the bodies that are not processed, claimed or not, and since when they wait", () =>
    Effect.gen(function*() {
      const { ours, store } = yield* start
      const backlog = CallbackStore.use((callbacks) => callbacks.backlog)
      const before = yield* backlog
      const stored = yield* Effect.forEach(
        [-3, -4, -2],
        (millis) => store(Uint8Array.of(1), { received_at: DateTime.subtract(afterNoon(millis), { days: 3650 }) })
      )
      yield* claim(0, 1)
      const oldest_received_at = stored[1]?.received_at ?? null
      assert.deepStrictEqual(yield* backlog, { count: before.count + 3, oldest_received_at })
      yield* Fixtures.mustCommit(ours, ...stored.map(({ id }) => CallbackRows.remove({ id })))
      assert.deepStrictEqual(yield* backlog, before)
    }))
}

const order = (it: It) => {
  it.effect("lets a body wait while an earlier one of its channel and person is claimed by another claim or due later", () =>
    Effect.gen(function*() {
      const { store } = yield* start
      const [channel_id, other] = [ChannelId.make(yield* Fixtures.uuid), ChannelId.make(yield* Fixtures.uuid)]
      const storeOf = Effect.fnUntraced(function*(millis: number, people: ReadonlyArray<string>, channel = channel_id) {
        const given = { channel_id: channel, people, received_at: afterNoon(millis) }
        return (yield* store(Uint8Array.of(1), given)).id
      })
      /** Claims callbacks, and returns those that are behind another one, and the others. */
      const claimAt = Effect.fnUntraced(function*(millis: number, since: number) {
        const claimed = yield* claim(millis)
        const loaded = yield* load(claimed, millis, since)
        const idsOf = (behind: boolean) =>
          loaded.flatMap(Option.toArray).filter(({ is_behind }) => is_behind === behind)
            .map(({ callback }) => callback.id).toSorted()
        return { claimed, behind: idsOf(true), first: idsOf(false) }
      })
      const release = (claimed: ReadonlyArray<ClaimedWork>) =>
        Effect.forEach(claimed, Fixtures.releaseWork, { discard: true })

      const first = yield* storeOf(0, ["kim", "\"Kim\" \u{1f600}"])
      const { claimed: [claimed = assert.fail("Nothing was claimed.")] } = yield* claimAt(1, -1)
      assert.strictEqual(claimed.ref, first)
      const later = yield* storeOf(2, ["ada", "\"Kim\" \u{1f600}"])
      const others = [yield* storeOf(3, ["ben"]), yield* storeOf(4, ["kim"], other), yield* storeOf(5, [])]
      const last = yield* storeOf(6, ["kim"])
      // The first is leased.
      const meanwhile = yield* claimAt(10, -1)
      assert.deepStrictEqual([meanwhile.behind, meanwhile.first], [[later, last], others])
      yield* release(meanwhile.claimed)
      // It is postponed.
      yield* Fixtures.postponeWork(claimed, afterNoon(1000))
      const postponed = yield* claimAt(11, -1)
      assert.deepStrictEqual([postponed.behind, postponed.first], [[later, last], others])
      yield* release(postponed.claimed)
      // A body that was received no later than the time delays no other.
      const unordered = yield* claimAt(12, 0)
      assert.deepStrictEqual([unordered.behind, unordered.first], [[], [later, ...others, last]])
      yield* release(unordered.claimed)
      // Once it is due again, one claim has it and the later ones.
      const due = yield* claimAt(1000, -1)
      assert.deepStrictEqual([due.behind, due.first], [[], [first, later, ...others, last]])
    }))
}

export const portTests = (it: It, options: Options) => {
  bodies(it, options)
  order(it)
}
