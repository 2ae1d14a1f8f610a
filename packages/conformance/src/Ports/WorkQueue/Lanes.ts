/** Tests of the items that claims return of one lane: in order, up to its cap, and after its throttle. */
import { assert } from "@effect/vitest"
import { Arbitrary, Effect } from "effect"
import { integer } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, type It, type Options } from "../../Fixtures.ts"
import { claim, enqueue, newWork, refs, start, throttle } from "./QueueScene.ts"

const fifoLanes = (it: It, { runs }: Options) => {
  it.effect.prop("claims a fifo lane's items one by one, in the order of their insertion", {
    dues: Arbitrary.array(integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 6 })
  }, ({ dues }) =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const items = yield* Effect.forEach(dues, (due) =>
        Effect.tap(newWork(lane), (work) => enqueue(ours, work, afterNoon(due))))
      const claimedRefs: Array<string> = []
      for (const _ of items) {
        const claimed = yield* claim({ at: afterNoon(5) })
        assert.lengthOf(claimed, 1)
        claimedRefs.push(...refs(claimed))
        yield* Effect.forEach(claimed, Fixtures.finishWork)
      }
      assert.deepStrictEqual(claimedRefs, refs(items))
      assert.deepStrictEqual(yield* claim({ at: afterNoon(5) }), [])
    }), { arbitrary: { runs } })

  it.effect("claims due items while earlier items wait behind a first one that is not due", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const ready = yield* newWork(yield* Fixtures.uuid)
      yield* enqueue(ours, yield* newWork(lane), afterNoon(60))
      yield* enqueue(ours, yield* newWork(lane), Fixtures.noon)
      yield* enqueue(ours, ready, afterNoon(1))
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(1), limit: 1 })), [ready.ref])
    }))

  it.effect("claims nothing of a fifo lane while its first item is not due or is claimed", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const [first, second] = [yield* newWork(lane), yield* newWork(lane)]
      yield* enqueue(ours, first, afterNoon(10))
      yield* enqueue(ours, second, Fixtures.noon)
      assert.deepStrictEqual(yield* claim({ at: afterNoon(9) }), [])
      const claimed = yield* claim({ at: afterNoon(10) })
      assert.deepStrictEqual(refs(claimed), [first.ref])
      assert.deepStrictEqual(yield* claim({ at: afterNoon(10) }), [])
      yield* Effect.forEach(claimed, (item) => Fixtures.postponeWork(item, afterNoon(20)))
      assert.deepStrictEqual(yield* claim({ at: afterNoon(19) }), [])
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(20) })), [first.ref])
    }))
}

const cappedLanes = (it: It) => {
  it.effect("claims of a lane without order as many as its cap allows, the longest due first", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const works = yield* Effect.forEach(Array.from({ length: 19 }), () => newWork(lane, "webhook_delivery"))
      yield* Effect.forEach(works, (work, index) => enqueue(ours, work, afterNoon(18 - index)))
      const byDue = works.toReversed().map(({ ref }) => ref)
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(2) })).toSorted(), byDue.slice(0, 3).toSorted())
      const rest = yield* claim({ at: afterNoon(20) })
      assert.deepStrictEqual(refs(rest).toSorted(), byDue.slice(3, 16).toSorted())
      assert.deepStrictEqual(yield* claim({ at: afterNoon(20) }), [])
      yield* Effect.forEach(rest.slice(0, 2), Fixtures.finishWork)
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(20) })).toSorted(), byDue.slice(16, 18).toSorted())
    }))

  it.effect("claims nothing of a throttled lane until its time, then no more than its cap, until the throttle ends", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const kind = "webhook_delivery" as const
      const fill = Effect.flatMap(newWork(lane, kind), (work) => enqueue(ours, work, Fixtures.noon))
      yield* Effect.replicateEffect(fill, 20, { discard: true })
      const before = yield* claim()
      assert.lengthOf(before, 16)
      yield* throttle(ours, { kind, lane, until: afterNoon(50), cap: 1 })
      yield* fill
      yield* Effect.forEach(before, Fixtures.finishWork)
      assert.lengthOf(yield* claim({ at: afterNoon(49) }), 0)
      const [tried, ...more] = yield* claim({ at: afterNoon(50) })
      assert.isDefined(tried)
      assert.lengthOf(more, 0)
      assert.lengthOf(yield* claim({ at: afterNoon(50) }), 0)
      const other = yield* newWork(yield* Fixtures.uuid, kind)
      yield* enqueue(ours, other, Fixtures.noon)
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(50) })), [other.ref])
      yield* throttle(ours, { kind, lane, until: null, cap: 16 })
      assert.lengthOf(yield* claim({ at: afterNoon(50) }), 4)
    }))
}

const emptyLanes = (it: It) => {
  it.effect("throttles a lane before its first item, and while it has none, until the next throttle", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const kind = "webhook_delivery" as const
      const fill = Effect.flatMap(newWork(lane, kind), (work) => enqueue(ours, work, Fixtures.noon))
      yield* throttle(ours, { kind, lane, until: afterNoon(40_000), cap: 1 })
      // A store may notice that a lane is empty when a worker claims, and may delete it in a later sweep.
      const pass = Effect.fnUntraced(function*(from: number) {
        for (let millis = from; millis <= from + 2000; millis += 250) {
          assert.deepStrictEqual(yield* claim({ at: afterNoon(millis) }), [])
        }
        yield* queue.sweep(afterNoon(from + 20_000))
      })
      yield* pass(0)
      assert.deepStrictEqual(yield* queue.backlog(Fixtures.noon), [])
      yield* Effect.replicateEffect(fill, 2, { discard: true })
      assert.deepStrictEqual(yield* claim({ at: afterNoon(39_999) }), [])
      for (const _ of [1, 2]) {
        const claimed = yield* claim({ at: afterNoon(40_000) })
        assert.deepStrictEqual(claimed.map(({ lane_cap }) => lane_cap), [1])
        yield* Effect.forEach(claimed, Fixtures.finishWork)
      }
      yield* pass(40_000)
      yield* Effect.replicateEffect(fill, 17, { discard: true })
      assert.lengthOf(yield* claim({ at: afterNoon(60_000) }), 1)
      yield* throttle(ours, { kind, lane, until: null, cap: 16 })
      assert.lengthOf(yield* claim({ at: afterNoon(60_000) }), 15)
    }))

  it.effect("claims as many items as its kind allows from a lane whose throttle ended while it was empty", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const kind = "webhook_delivery" as const
      yield* throttle(ours, { kind, lane, until: afterNoon(60_000), cap: 1 })
      yield* throttle(ours, { kind, lane, until: null, cap: 16 })
      yield* queue.sweep(afterNoon(20_000))
      const fill = Effect.flatMap(newWork(lane, kind), (work) => enqueue(ours, work, Fixtures.noon))
      yield* Effect.replicateEffect(fill, 17, { discard: true })
      assert.lengthOf(yield* claim({ at: afterNoon(20_000) }), 16)
    }))
}

export const lanes = (it: It, options: Options) => {
  fifoLanes(it, options)
  cappedLanes(it)
  emptyLanes(it)
}
