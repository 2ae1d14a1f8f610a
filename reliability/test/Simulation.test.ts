/** Runs the whole service under simulated faults. `npm run simulate` runs more seeds. */
import { assert, it } from "@effect/vitest"
import { simulate } from "../simulation/Simulation.ts"

// `.ci/run` runs 1,000 seeds after the tests.
it("every invariant holds under the faults of 15 seeds", () => {
  for (let seed = 0; seed < 15; seed++) {
    const { failure, trace } = simulate(seed)
    assert.isNull(failure, `${trace.last(60).join("\n")}\nRepeat it with: npm run simulate -- 1 ${seed}`)
  }
})

it("a seed repeats its run exactly, without the clock and the randomness of the platform", () => {
  const [{ now }, { random }, { getRandomValues, randomUUID }] = [Date, Math, globalThis.crypto]
  const read: Array<string> = []
  const watch = <A>(name: string, value: A): A => {
    read.push(name)
    return value
  }
  const hashes = (seeds: ReadonlyArray<number>) => seeds.map((seed) => simulate(seed).trace.hash())
  const seeds = [1, 2, 3, 4, 5]
  const before = hashes(seeds)
  Date.now = () => watch("Date.now", now())
  Math.random = () => watch("Math.random", random())
  Object.assign(globalThis.crypto, {
    getRandomValues: <A extends ArrayBufferView>(bytes: A) =>
      watch("getRandomValues", Reflect.apply(getRandomValues, globalThis.crypto, [bytes])),
    randomUUID: () => watch("randomUUID", Reflect.apply(randomUUID, globalThis.crypto, []))
  })
  try {
    assert.deepStrictEqual(hashes(seeds.toReversed()).toReversed(), before)
    assert.isEmpty(read)
  } finally {
    Date.now = now
    Math.random = random
    Object.assign(globalThis.crypto, { getRandomValues, randomUUID })
  }
})
