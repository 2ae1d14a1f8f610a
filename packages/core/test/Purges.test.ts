import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { purgeOlderThan } from "../src/kernel/Loops.ts"

it.effect("a purge whose batch is too large for the store deletes smaller ones", () =>
  Effect.gen(function*() {
    let rows = 35
    const purge = (_before: unknown, limit: number) =>
      limit > 10 ? Effect.die(new Error("The statement took too long.")) : Effect.sync(() => {
        const removed = Math.min(rows, limit)
        rows -= removed
        return removed
      })
    const batch = purgeOlderThan(Duration.hours(72), purge, 500)
    yield* Effect.repeat(batch, { until: (removed) => removed === 0 })
    assert.strictEqual(rows, 0)
  }))

it.effect("a purge fails if not even one row can be deleted", () =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(purgeOlderThan(Duration.hours(72), () => Effect.die(new Error("No."))))
    assert.strictEqual(exit._tag, "Failure")
  }))
