/** Percentiles of measured values. */

/** Returns the value that a share of the values does not exceed; NaN without values. */
export const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

/** Returns the number of times in milliseconds, their median, their 99th percentile, and the longest. */
export const summaryOf = (millis: ReadonlyArray<number>) => ({
  count: millis.length,
  p50_ms: percentile(millis, 0.5),
  p99_ms: percentile(millis, 0.99),
  max_ms: percentile(millis, 1)
})
