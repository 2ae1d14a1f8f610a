/** A random choice that the seed of `Random` determines. */
import { Effect, Random } from "effect"

/** Picks one value of a non-empty array. */
export const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => values[index] as A) // the index is in range
