/** Pseudorandom numbers that a seed determines. */
import { randomNumbers } from "@messaging-crm/conformance/RandomNumbers"

export interface SeededRandom {
  /** A number from 0 to below 1. */
  readonly next: () => number
  /** A whole number from `min` to `max`. */
  readonly between: (min: number, max: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <const Some extends readonly [unknown, ...ReadonlyArray<unknown>]>(some: Some) => Some[number]
  /** Returns an independent sequence, so that the draws of one part of a simulation do not change those of another part. */
  readonly split: () => SeededRandom
}

export const seededRandom = (seed: number): SeededRandom => {
  // Spreads neighboring seeds apart.
  const next = randomNumbers(Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1))
  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick: (some) => some[Math.floor(next() * some.length)] ?? some[0],
    split: () => seededRandom(Math.floor(next() * 4_294_967_296))
  }
}
