import { assert, it } from "@effect/vitest"
import { areEnough, leastDisturbed, medians, ratio, type Round } from "../src/http/Rounds.ts"

const round = (per_second: number, failed: number, other_processes_percent: number): Round => ({
  per_second,
  p50_ms: per_second,
  p99_ms: per_second,
  server_us: per_second,
  postgres_us: per_second,
  load_us: per_second,
  bytes: per_second,
  failed,
  other_processes_percent
})

it("the median of rounds has all their failures, and the worst disturbance", () => {
  const cases = [
    [[round(3, 1, 5)], round(3, 1, 5)],
    [[round(1, 0, 2), round(9, 2, 7), round(2, 1, 0)], round(2, 3, 7)],
    [[round(1, 0, 0), round(2, 0, 0)], round(1.5, 0, 0)]
  ] as const
  for (const [rounds, expected] of cases) assert.deepStrictEqual(medians(rounds), expected)
})

it("the ratio is the median of the ratios of neighboring rounds", () => {
  const roundsOf = (...rates: ReadonlyArray<number>) => rates.map((per_second) => round(per_second, 0, 0))
  const cases = [
    [roundsOf(10), roundsOf(5), 2],
    [roundsOf(10, 30, 8), roundsOf(5, 10, 8), 2],
    [roundsOf(10, 10), roundsOf(5, 10), 1.5]
  ] as const
  for (const [service, baseline, expected] of cases) assert.strictEqual(ratio(service, baseline), expected)
  assert.isNaN(ratio(roundsOf(10), []))
})

it("turns are enough when as many as required are undisturbed, or twice as many are measured", () => {
  const cases = [
    [[], false],
    [[0, 20], true],
    [[0, 21], false],
    [[0, 21, 20], true],
    [[0, 21, 30], false],
    [[99, 21, 30, 40], true]
  ] as const
  for (const [turns, expected] of cases) {
    assert.strictEqual(areEnough(turns.map((other_processes_percent) => ({ other_processes_percent })), 2), expected)
  }
})

it("only the least disturbed turns are used, the earlier of equal ones first", () => {
  const turns = [40, 0, 30, 0, 20].map((other_processes_percent, index) => ({ other_processes_percent, index }))
  const countedOf = (rounds: number) => leastDisturbed(turns, rounds).map(({ index }) => index)
  assert.deepStrictEqual([countedOf(1), countedOf(3), countedOf(9)], [[1], [1, 3, 4], [1, 3, 4, 2, 0]])
  const equal = [0, 1, 2].map((index) => ({ other_processes_percent: 20, index }))
  assert.deepStrictEqual(leastDisturbed(equal, 2).map(({ index }) => index), [0, 1])
})
