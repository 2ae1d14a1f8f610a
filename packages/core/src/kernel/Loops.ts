/** Loops that run in the background and must survive failures. */
import { Effect } from "effect"

/**
 * Logs a failure and pauses for a second, so that an unreachable database does not end
 * the loop, and is not flooded with retries.
 */
export const logAndPause = (what: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(
    effect,
    (cause) => Effect.andThen(Effect.logError(`${what} failed`, cause), Effect.sleep("1 second"))
  )
