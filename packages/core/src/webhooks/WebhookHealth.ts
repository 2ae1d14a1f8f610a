/** The health of a webhook's endpoint: when failures pause its webhook, and when they disable it (contract §14.3, §14.9). */
import { DateTime, Duration, Schema } from "effect"
import { Timestamp } from "../kernel/Timestamps.ts"

/** The failures of an endpoint since its last success. */
export const Health = Schema.Struct({
  consecutive_failures: Schema.Int,
  first_failure_at: Schema.NullOr(Timestamp)
})
export interface Health extends Schema.Schema.Type<typeof Health> {}

/** A webhook is disabled after this time without a success, if at least this number of attempts failed. */
export const disable_after = { time: Duration.days(5), failures_min: 10 } as const

/** After `failures_min` consecutive failures, the webhook is paused between attempts, which are made one at a time. */
export const breaker = { failures_min: 5, pause_min: Duration.seconds(30), pause_max: Duration.minutes(10) } as const

/** The health after a success. */
export const healthy: Health = { consecutive_failures: 0, first_failure_at: null }

/** Returns the health after one more failure. */
export const recordFailure = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): Health => ({
  consecutive_failures: consecutive_failures + 1,
  first_failure_at: first_failure_at ?? now
})

/** Returns whether the endpoint has failed long and often enough for its webhook to be disabled. */
export const shouldDisable = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): boolean =>
  consecutive_failures >= disable_after.failures_min &&
  first_failure_at !== null &&
  DateTime.isGreaterThanOrEqualTo(now, DateTime.addDuration(first_failure_at, disable_after.time))

/**
 * Returns the pause until the next attempt: 30 seconds, twice as long with each failure, up to 10 minutes.
 *
 * Null before the fifth.
 */
export const pauseOf = ({ consecutive_failures }: Health): Duration.Duration | null => {
  const beyond = consecutive_failures - breaker.failures_min
  if (beyond < 0) return null
  return Duration.min(Duration.times(breaker.pause_min, 2 ** Math.min(beyond, 10)), breaker.pause_max)
}
