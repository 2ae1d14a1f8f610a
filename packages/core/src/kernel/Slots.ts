/** Slots: a limit on concurrent executions, shared fairly among keys. */
import { Deferred, type Duration, Effect, Option } from "effect"

/** A request for a slot that is not free yet. */
interface Waiter<Key> {
  readonly key: Key
  readonly granted: Deferred.Deferred<void>
}

/**
 * Makes slots. A key gets another slot only while more slots are free than it holds, so one key alone gets half of them.
 *
 * Waiting requests are served in the order of their arrival, except those of a key that holds too many.
 */
export const make = <Key>(slots: number) => {
  const held = new Map<Key, number>()
  const waiting = new Set<Waiter<Key>>()
  let free = slots

  const heldBy = (key: Key): number => held.get(key) ?? 0

  const grant = (waiter: Waiter<Key>) => {
    waiting.delete(waiter)
    held.set(waiter.key, heldBy(waiter.key) + 1)
    free--
    Deferred.doneUnsafe(waiter.granted, Effect.void)
  }

  const grantNext = () => {
    for (const waiter of waiting) if (heldBy(waiter.key) < free) grant(waiter)
  }

  const release = (key: Key) =>
    Effect.sync(() => {
      if (heldBy(key) === 1) held.delete(key)
      else held.set(key, heldBy(key) - 1)
      free++
      grantNext()
    })

  /** Runs an effect in a slot of a key. Returns none if there was no slot in time. */
  const withSlot = <A, E, R>(
    key: Key,
    wait: Duration.Input,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const waiter: Waiter<Key> = { key, granted: Deferred.makeUnsafe() }
        waiting.add(waiter)
        if (heldBy(key) < free) grant(waiter)
        // Whether the request still waits tells who came first, the timeout or the slot: a slot can be granted after the
        // wait has ended and before this fiber continues. An interrupted request that was granted a slot has to release it.
        const leave = Effect.suspend(() => waiting.delete(waiter) ? Effect.void : release(key))
        const run = Effect.suspend(() =>
          waiting.delete(waiter)
            ? Effect.succeed(Option.none<A>())
            : Effect.ensuring(Effect.map(restore(effect), Option.some), release(key))
        )
        const waited = Effect.timeoutOption(Deferred.await(waiter.granted), wait)
        return Effect.andThen(Effect.onInterrupt(restore(waited), () => leave), run)
      })
    )

  return { withSlot }
}

export type Slots<Key> = ReturnType<typeof make<Key>>
