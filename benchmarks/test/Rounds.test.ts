import { assert, it } from "@effect/vitest"
import { medians, ratio, type Round } from "../src/http/Rounds.ts"

const round = (per_second: number, failed: number, others: number): Round => ({
  per_second,
  p50_ms: per_second,
  p99_ms: per_second,
  server_us: per_second,
  postgres_us: per_second,
  load_us: per_second,
  bytes: per_second,
  failed,
  others
})

it("the medians of rounds add up failures, and have the worst disturbance", () => {
  const cases = [
    [[round(3, 1, 5)], round(3, 1, 5)],
    [[round(1, 0, 2), round(9, 2, 7), round(2, 1, 0)], round(2, 3, 7)],
    [[round(1, 0, 0), round(2, 0, 0)], round(1.5, 0, 0)]
  ] as const
  for (const [rounds, expected] of cases) assert.deepStrictEqual(medians(rounds), expected)
})

it("the ratio is the median of the ratios of neighboring rounds", () => {
  const of = (...all: ReadonlyArray<number>) => all.map((per_second) => round(per_second, 0, 0))
  const cases = [
    [of(10), of(5), 2],
    [of(10, 30, 8), of(5, 10, 8), 2],
    [of(10, 10), of(5, 10), 1.5]
  ] as const
  for (const [service, baseline, expected] of cases) assert.strictEqual(ratio(service, baseline), expected)
  assert.isNaN(ratio(of(10), []))
})
