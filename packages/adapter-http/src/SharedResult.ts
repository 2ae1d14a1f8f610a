/** Results that are expensive and the same for every client: one at a time is made, and all share it. */
import { Duration, Effect, Exit, Fiber } from "effect"

/**
 * Returns an effect that makes a result at its first use, and makes another after `time`, if one is given, or after a
 * failure.
 *
 * The result is made in the scope of the layer, not in that of the request that needs it first: a client that hangs up
 * neither ends nor repeats the work.
 */
export const make = Effect.fnUntraced(function*<A, E, R>(
  result: Effect.Effect<A, E, R>,
  time: Duration.Input = Duration.infinity
) {
  const scope = yield* Effect.scope
  const shared = yield* Effect.cachedWithTTL(result, (exit) => Exit.isSuccess(exit) ? time : Duration.zero)
  return Effect.flatMap(Effect.forkIn(shared, scope), Fiber.join)
})
