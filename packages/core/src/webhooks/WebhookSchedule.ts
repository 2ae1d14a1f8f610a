/** Webhook schedule: when the attempts of a delivery are made (contract §14). */
import { DateTime, Duration, Option } from "effect"
import type { Timestamp } from "../kernel/Timestamps.ts"

/** The delay after the first, second … failed attempt: ten attempts within 75.6 hours. */
export const delays = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(14),
  Duration.hours(20),
  Duration.hours(24)
] as const

/** The index of the first delay that has jitter: 10 % to either side. */
const first_jittered = 1

/**
 * Returns the time of the next attempt after `attempt_count` attempts, or none
 * when there are no more.
 *
 * `random` is from 0 to 1, for the jitter. `retry_after` lengthens the delay, up
 * to twice its usual length or to one hour, whichever is longer.
 */
export const nextAttempt = (
  attempt_count: number,
  now: Timestamp,
  retry_after: Duration.Duration | null,
  random: number
): Option.Option<Timestamp> => {
  const usual = delays[attempt_count - 1]
  if (usual === undefined) return Option.none()
  const jitter = attempt_count - 1 < first_jittered ? 1 : 0.9 + 0.2 * random
  // In whole milliseconds, the precision of every store.
  const base = Duration.millis(Math.round(Duration.toMillis(usual) * jitter))
  const most = Duration.max(Duration.times(usual, 2), Duration.hours(1))
  const delay = retry_after === null ? base : Duration.min(Duration.max(retry_after, base), most)
  return Option.some(DateTime.addDuration(now, delay))
}
