/** Webhook schedule: when the attempts of a delivery are made (contract §14). */
import { DateTime, Duration, Option } from "effect"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

/** The delay after the first, second … failed attempt. */
export const delays = schedules.delivery.pauses

/**
 * Returns the time of the next attempt after `attempt_count` attempts, or none when there are no more.
 *
 * `random` is from 0 to 1, for the jitter. `retry_after` lengthens the delay, up to twice its usual length or to one hour,
 * whichever is longer.
 */
export const nextAttempt = (
  attempt_count: number,
  now: Timestamp,
  retry_after: Duration.Duration | null,
  random: number
): Option.Option<Timestamp> => {
  const usual = delays[attempt_count - 1]
  if (usual === undefined) return Option.none()
  // In whole milliseconds, the precision of every store.
  const pause = Duration.millis(Math.round(Duration.toMillis(pauseAfter(schedules.delivery, attempt_count, random))))
  const most = Duration.max(Duration.times(usual, 2), Duration.hours(1))
  return Option.some(
    DateTime.addDuration(now, Duration.min(Duration.max(retry_after ?? Duration.zero, pause), most))
  )
}
