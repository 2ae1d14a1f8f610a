/** Percentiles of measured values. */

/** Returns the smallest value that at least a share of the values does not exceed; NaN without values. */
export const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

/** Returns the middle of the values, between the two middle ones of an even number; NaN without values. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2
}

/** Returns the number of times in milliseconds, their median, their 99th percentile, and the longest. */
export const summaryOf = (times_ms: ReadonlyArray<number>) => ({
  count: times_ms.length,
  p50_ms: median(times_ms),
  p99_ms: percentile(times_ms, 0.99),
  max_ms: percentile(times_ms, 1)
})
