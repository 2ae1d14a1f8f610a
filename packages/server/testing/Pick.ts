/** A random choice, which repeats with the seed of `Random`. */
import { Effect, Random } from "effect"

/** Picks one of some values, of which there is at least one. */
export const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => values[index] as A) // the index is in range
