/** Waits in tests for a state that no signal reports. */
import { Effect } from "effect"

/** 4,000 pauses of 30 ms are two minutes, for machines under load. */
const attempts_max = 4000

/** Repeats an effect every 30 ms until its result matches, and returns it. Dies with the last result after two minutes. */
export const eventually = Effect.fnUntraced(function*<A, E, R>(
  effect: Effect.Effect<A, E, R>,
  matches: (value: A) => boolean
): Effect.fn.Return<A, E, R> {
  for (let attempt = 1; true; attempt++) {
    const value = yield* effect
    if (matches(value)) return value
    if (attempt === attempts_max) {
      return yield* Effect.die(new Error(`The condition did not hold within two minutes: ${JSON.stringify(value)}`))
    }
    yield* Effect.sleep("30 millis")
  }
})
