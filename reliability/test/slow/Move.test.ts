/** A short form of the drill `npm run move-test`. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { withPostgres } from "../../drills/harness/Drill.ts"
import { drill } from "../../drills/move/Move.ts"

it.live("a move that is killed under load loses and duplicates nothing", () =>
  Effect.gen(function*() {
    const steps = ["Copying", "Leaving"] as const
    const { history, moved, violations } = yield* withPostgres(drill({ seed: 1, clients: 3, steps, onStep: () => {} }))
    assert.deepStrictEqual(violations, [])
    assert.deepStrictEqual(history.unfinished, [])
    assert.strictEqual(moved.undone + moved.continued, steps.length)
  }).pipe(Effect.scoped), 240_000)
