/** Send schedule: when the attempts of a send are made (contract §12.6). */
import { DateTime, Duration, Option } from "effect"
import type { Timestamp } from "../../kernel/Timestamps.ts"

/** For how long a send is retried. The later sends of its conversation wait for it. */
export const retry_time_max = Duration.minutes(2)

/** The pauses between attempts. A network that throttles one recipient requires a pause four times as long each time. */
const delays_seconds = { usual: [1, 5, 15, 30, 60], recipient: [1, 4, 16, 64, 256] } as const
type Pauses = keyof typeof delays_seconds

/**
 * Returns the number of attempts so far, from the number of claims. A claim that ended because the channel was held
 * made no attempt, so there are at most as many as the time since the first allows.
 */
export const attemptsOf = (
  claims: number,
  first_attempt_at: Timestamp,
  now: Timestamp,
  pauses: Pauses = "usual"
): number => {
  let left = Duration.toSeconds(DateTime.distance(first_attempt_at, now))
  const fit = delays_seconds[pauses].findIndex((delay) => (left -= delay) < 0)
  return fit === -1 ? claims : Math.min(claims, fit + 1)
}

/** Returns the time of the next attempt, or none when that would be more than two minutes after the first. */
export const nextAttempt = (
  attempt: number,
  first_attempt_at: Timestamp,
  now: Timestamp,
  retry_after_seconds: number | null,
  pauses: Pauses = "usual"
): Option.Option<Timestamp> => {
  const delays = delays_seconds[pauses]
  const delay = delays[Math.min(attempt, delays.length) - 1] ?? 60
  const due_at = DateTime.add(now, { seconds: Math.max(delay, retry_after_seconds ?? 0) })
  return isInTime({ first_attempt_at }, due_at) ? Option.some(due_at) : Option.none()
}

/** Returns the latest time at which an attempt can begin: two minutes after the first one. */
export const endOfRetries = (first_attempt_at: Timestamp): Timestamp =>
  DateTime.addDuration(first_attempt_at, retry_time_max)

/** Returns whether an attempt can begin at a time. */
export const isInTime = ({ first_attempt_at }: { readonly first_attempt_at: Timestamp }, at: Timestamp): boolean =>
  DateTime.isLessThanOrEqualTo(at, endOfRetries(first_attempt_at))
