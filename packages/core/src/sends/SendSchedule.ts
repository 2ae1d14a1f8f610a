/** Send schedule: when the attempts of a send are made (contract §12.6). */
import { DateTime, Duration, Option } from "effect"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

type Pauses = "recipient" | "send"

/** For how long a send is retried. The later sends of its conversation wait for it. */
export const retry_time_max = Duration.minutes(2)

/**
 * Returns the number of attempts so far, from the number of claims. A claim that ended because the channel was held
 * made no attempt, so there are at most as many as the time since the first allows.
 */
export const attemptsOf = (
  claims: number,
  first_attempt_at: Timestamp,
  now: Timestamp,
  pauses: Pauses = "send"
): number => {
  let left = Duration.toSeconds(DateTime.distance(first_attempt_at, now))
  const fit = schedules[pauses].pauses.findIndex((pause) => (left -= Duration.toSeconds(pause)) < 0)
  return fit === -1 ? claims : Math.min(claims, fit + 1)
}

/** Returns the time of the next attempt, or none when that would be more than two minutes after the first. */
export const nextAttempt = (
  attempt: number,
  first_attempt_at: Timestamp,
  now: Timestamp,
  retry_after_seconds: number | null,
  pauses: Pauses = "send"
): Option.Option<Timestamp> => {
  const pause = Duration.max(pauseAfter(schedules[pauses], attempt), Duration.seconds(retry_after_seconds ?? 0))
  const due_at = DateTime.addDuration(now, pause)
  return isInTime({ first_attempt_at }, due_at) ? Option.some(due_at) : Option.none()
}

/** Returns the latest time at which an attempt can begin: two minutes after the first one. */
export const endOfRetries = (first_attempt_at: Timestamp): Timestamp =>
  DateTime.addDuration(first_attempt_at, retry_time_max)

/** Returns whether an attempt can begin at a time. */
export const isInTime = ({ first_attempt_at }: { readonly first_attempt_at: Timestamp }, at: Timestamp): boolean =>
  DateTime.isLessThanOrEqualTo(at, endOfRetries(first_attempt_at))
