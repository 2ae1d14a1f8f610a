import { assert, describe, it } from "@effect/vitest"
import { median, percentile, summaryOf } from "../src/harness/Percentiles.ts"

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => count - index)

describe("a percentile", () => {
  it("is the smallest value that the share does not exceed", () => {
    assert.deepStrictEqual([0, 0.01, 0.5, 0.99, 1].map((share) => percentile(upTo(100), share)), [1, 1, 50, 99, 100])
    assert.deepStrictEqual([0.5, 0.99, 1].map((share) => percentile(upTo(10), share)), [5, 10, 10])
    assert.strictEqual(percentile([7], 0.99), 7)
    assert.isNaN(percentile([], 0.5))
  })

  it("of half is near the median, which lies between two values", () => {
    assert.deepStrictEqual([median(upTo(3)), median(upTo(4)), median([7])], [2, 2.5, 7])
    assert.isNaN(median([]))
  })
})

it("a summary has the number of values, their median, their 99th percentile, and the longest", () => {
  assert.deepStrictEqual(summaryOf(upTo(200)), { count: 200, p50_ms: 100.5, p99_ms: 198, max_ms: 200 })
})
