/** The slots of large bodies that are not verified yet. */
import { Deferred, Effect, Semaphore } from "effect"

/**
 * Makes an effect that acquires one of two slots for large bodies, so that many of them do not block other requests. A
 * slot is released with its scope, or after a second, so that a slow sender delays the others by at most a second.
 */
export const makeLargeBodySlots = () => {
  const slots = Semaphore.makeUnsafe(2)
  return Effect.gen(function*() {
    const acquired = yield* Deferred.make<void>()
    const hold = Effect.andThen(Deferred.succeed(acquired, undefined), Effect.sleep("1 second"))
    // A fiber holds the permit, so that whichever end comes first releases it, and the other does not release it again.
    yield* Effect.forkScoped(slots.withPermit(hold))
    yield* Deferred.await(acquired)
  })
}
