/** Purges: how rows that have expired are deleted in batches. */
import { Cause, DateTime, type Duration, Effect } from "effect"
import type { Timestamp } from "./Timestamps.ts"

/**
 * Deletes one batch of the rows older than `age_max`, at most `limit`, and returns their number. If that fails, it deletes
 * fewer: the rows may be too large for one statement, and those that stay would be in the next batch again.
 */
export const purgeOlderThan = (
  age_max: Duration.Duration,
  purge: (before: Timestamp, limit: number) => Effect.Effect<number>,
  limit = 5000
): Effect.Effect<number> => {
  const batch = (before: Timestamp, size: number): Effect.Effect<number> =>
    Effect.catchCause(
      purge(before, size),
      (cause) =>
        size === 1 || Cause.hasInterrupts(cause) ? Effect.failCause(cause) : batch(before, Math.ceil(size / 10))
    )
  return Effect.flatMap(DateTime.now, (now) => batch(DateTime.subtractDuration(now, age_max), limit))
}
