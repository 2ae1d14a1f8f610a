/** Loops that run in the background and must survive failures, and the batches in which they delete expired rows. */
import { Cause, Context, DateTime, type Duration, Effect } from "effect"
import type { Timestamp } from "./Timestamps.ts"

/**
 * Logs a failure and pauses for a second, so that an unreachable database does not end
 * the loop, and is not flooded with retries.
 */
export const logAndPause = (what: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(
    effect,
    (cause) => Effect.andThen(Effect.logError(`${what} failed`, cause), Effect.sleep("1 second"))
  )

/** Whether a sleep is the pause between two polls of a loop, which a simulated clock can prolong. */
export const IsPollPause = Context.Reference<boolean>("@messaging-crm/core/IsPollPause", { defaultValue: () => false })

/** Marks the pause between two polls of a loop. */
export const pollPause: <A, E, R>(pause: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.provideService(
  IsPollPause,
  true
)

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
