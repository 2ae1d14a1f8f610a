/** Loops that run in the background and must survive failures. */
import { Context, Effect } from "effect"

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
