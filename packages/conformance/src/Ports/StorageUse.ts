/** Tests of the guarantees of `StorageUseStore`. */
import { assert } from "@effect/vitest"
import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

export const portTests = (it: It) => {
  it.effect("sums the bytes of an organization that have not expired", () =>
    Effect.gen(function*() {
      const { add } = yield* StorageUseStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      assert.strictEqual(yield* add(ours, { bytes: 0, expires_at: afterNoon(5) }, afterNoon(0)), 0)
      assert.strictEqual(yield* add(ours, { bytes: 100, expires_at: afterNoon(5) }, afterNoon(0)), 100)
      assert.strictEqual(yield* add(ours, { bytes: 20, expires_at: afterNoon(5) }, afterNoon(1)), 120)
      assert.strictEqual(
        yield* add(ours, { bytes: 5_000_000_000, expires_at: afterNoon(7) }, afterNoon(1)),
        5_000_000_120
      )
      assert.strictEqual(yield* add(theirs, { bytes: 1, expires_at: afterNoon(7) }, afterNoon(1)), 1)
      assert.strictEqual(yield* add(ours, { bytes: 0, expires_at: afterNoon(5) }, afterNoon(5)), 5_000_000_000)
      assert.strictEqual(yield* add(ours, { bytes: 0, expires_at: afterNoon(5) }, afterNoon(7)), 0)
    }))

  it.effect("loses no bytes of concurrent calls", () =>
    Effect.gen(function*() {
      const { add } = yield* StorageUseStore
      const ours = yield* Fixtures.organization
      const use = { bytes: 10, expires_at: afterNoon(5) }
      yield* Effect.all(Array.from({ length: 50 }, () => add(ours, use, afterNoon(0))), { concurrency: "unbounded" })
      assert.strictEqual(yield* add(ours, { ...use, bytes: 0 }, afterNoon(0)), 500)
    }))

  it.effect("deletes expired sums, the oldest first, up to the limit", () =>
    Effect.gen(function*() {
      const { add, purge } = yield* StorageUseStore
      const ours = yield* Fixtures.organization
      while ((yield* purge(afterNoon(0), 1000)) > 0) continue
      for (const at of [9, -1, -2, -3]) yield* add(ours, { bytes: 1, expires_at: afterNoon(at) }, afterNoon(-9))
      for (const [removed, left] of [[2, 2], [1, 1], [0, 1]] as const) {
        assert.strictEqual(yield* purge(afterNoon(0), 2), removed)
        assert.strictEqual(yield* add(ours, { bytes: 0, expires_at: afterNoon(9) }, afterNoon(-9)), left)
      }
    }))
}
