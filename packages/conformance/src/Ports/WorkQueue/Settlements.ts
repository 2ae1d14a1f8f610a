/** Tests of the end of a claim: by its settlement, or with its lease. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, type It } from "../../Fixtures.ts"
import { claim, enqueue, newWork, refs, start } from "./QueueScene.ts"

const leases = (it: It) => {
  it.effect("settles only an item whose claim still has its lease", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const work = yield* newWork(lane)
      yield* enqueue(ours, work, Fixtures.noon)
      const [stale] = yield* claim()
      yield* queue.sweep(afterNoon(60_000))
      const [current] = yield* claim({ at: afterNoon(60_000) })
      if (stale === undefined || current === undefined) return assert.fail("The item was not claimed twice.")
      assert.strictEqual(current.attempt, 2)
      for (
        const settlement of [
          { claimed: stale, outcome: "finish" },
          { claimed: stale, outcome: "release" },
          { claimed: stale, outcome: "postpone", due_at: afterNoon(0) },
          { claimed: stale, outcome: "defect", due_at: afterNoon(0) }
        ] as const
      ) {
        assert.isFalse(yield* Fixtures.settleWork(settlement))
      }
      assert.deepStrictEqual(yield* claim({ at: afterNoon(60_000) }), [])
      assert.isTrue(yield* Fixtures.finishWork(current))
      assert.isFalse(yield* Fixtures.finishWork(current))
      assert.deepStrictEqual(yield* claim({ at: afterNoon(999_999) }), [])
    }))

  it.effect("releases the items whose lease has ended, and no others", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const work = yield* newWork(lane)
      yield* enqueue(ours, work, Fixtures.noon)
      assert.lengthOf(yield* claim(), 1)
      yield* queue.sweep(afterNoon(59_999))
      assert.deepStrictEqual(yield* claim({ at: afterNoon(59_999) }), [])
      yield* queue.sweep(afterNoon(60_000))
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(60_000) })), [work.ref])
    }))
}

const releases = (it: It) => {
  it.effect("counts a released claim as if it had never been made", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      yield* enqueue(ours, yield* newWork(lane), Fixtures.noon)
      const first = yield* claim()
      assert.deepStrictEqual(yield* Effect.forEach(first, Fixtures.releaseWork), [true])
      assert.deepStrictEqual((yield* claim()).map(({ attempt }) => attempt), [1])
    }))

  it.effect("claims a released item again, even if its lane had no other items", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      yield* enqueue(ours, yield* newWork(lane, "webhook_delivery"), Fixtures.noon)
      const claimed = yield* claim()
      for (let millis = 0; millis <= 2000; millis += 250) {
        assert.deepStrictEqual(yield* claim({ at: afterNoon(millis) }), [])
      }
      yield* Effect.forEach(claimed, Fixtures.releaseWork)
      assert.deepStrictEqual(refs(yield* claim({ at: afterNoon(2000) })), refs(claimed))
    }))
}

const defects = (it: It) => {
  it.effect("counts the defects of an item, and postpones it after each", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const work = yield* newWork(lane)
      yield* enqueue(ours, work, Fixtures.noon)
      for (const count of [1, 2, 3]) {
        const [claimed, ...more] = yield* claim({ at: afterNoon(count * 10) })
        if (claimed === undefined) return assert.fail("The item was not claimed.")
        assert.lengthOf(more, 0)
        assert.deepStrictEqual([claimed.attempt, claimed.defects], [count, count - 1])
        assert.isTrue(yield* Fixtures.settleWork({ claimed, outcome: "defect", due_at: afterNoon(count * 10 + 10) }))
        assert.deepStrictEqual(yield* claim({ at: afterNoon(count * 10 + 9) }), [])
      }
      const [claimed] = yield* claim({ at: afterNoon(40) })
      if (claimed === undefined) return assert.fail("The item was not claimed.")
      assert.isTrue(yield* Fixtures.postponeWork(claimed, afterNoon(50)))
      assert.deepStrictEqual((yield* claim({ at: afterNoon(50) })).map(({ defects }) => defects), [3])
    }))
}

export const settlements = (it: It) => {
  leases(it)
  releases(it)
  defects(it)
}
