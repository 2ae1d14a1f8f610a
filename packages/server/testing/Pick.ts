/** Random choices that the seed of `Random` determines. */
import { Effect, Random } from "effect"

/** Picks one value; undefined for an empty array. */
export const pickAny = <A>(values: ReadonlyArray<A>): Effect.Effect<A | undefined> =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => values[index])

/** Picks one value of a non-empty array. */
export const pick = <A>(values: ReadonlyArray<A>) => Effect.map(pickAny(values), (value) => value as A) // it is not empty
