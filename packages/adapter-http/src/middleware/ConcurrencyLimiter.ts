/** Limits what a process does concurrently for one API key, network, or organization. The rest waits for a slot, in order. */
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"

/** The maximum number of concurrent requests of a key in a process. A reference, so that an operator can change it. */
export const RequestsAtOnce = Context.Reference<number>(
  "@messaging-crm/adapter-http/middleware/ConcurrencyLimiter/RequestsAtOnce",
  {
    defaultValue: () => limits.requests_at_once
  }
)

/** The slots of one key: how many are in use, and the callers that wait for one, in the order of their arrival. */
interface Slots {
  running: number
  readonly waiting: Set<() => void>
}

/** The maximum number of keys whose slots are kept while none is in use. */
const idle_max = 10_000

/** Makes a limiter: each key has `at_once` slots. */
export const make = <Key extends string>(at_once: number) => {
  const all = new Map<Key, Slots>()

  const slotsOf = (key: Key): Slots => {
    const known = all.get(key)
    if (known !== undefined) return known
    const made: Slots = { running: 0, waiting: new Set() }
    all.set(key, made)
    return made
  }

  const leave = (key: Key, slots: Slots): void => {
    // The first waiting caller gets the slot, so the count does not change.
    for (const take of slots.waiting) return take()
    slots.running--
    if (slots.running === 0 && all.size > idle_max) all.delete(key)
  }

  /** A request for a slot: `take` acquires it or returns the wait for it, and `leave` releases it if it was acquired. */
  const slotOf = (key: Key) => {
    let taken: Slots | null = null
    const waitFor = (slots: Slots) =>
      Effect.callback<void>((resume) => {
        const take = () => {
          slots.waiting.delete(take)
          taken = slots
          // Without the yield, each caller of a long queue would run inside the previous one.
          resume(Effect.yieldNow)
        }
        slots.waiting.add(take)
        return Effect.sync(() => slots.waiting.delete(take))
      })
    /** Returns null if the slot was free. */
    const take = (): Effect.Effect<void> | null => {
      const slots = slotsOf(key)
      if (slots.running >= at_once) return waitFor(slots)
      slots.running++
      taken = slots
      return null
    }
    return { take, leave: () => taken === null ? undefined : leave(key, taken) }
  }

  /** Takes a slot until the scope ends. */
  const acquire = (key: Key) =>
    Effect.suspend(() => {
      const slot = slotOf(key)
      return Effect.andThen(
        Effect.addFinalizer(() => Effect.sync(slot.leave)),
        Effect.suspend(() => slot.take() ?? Effect.void)
      )
    })

  /** Runs an effect in a slot. */
  const run = <A, E, R>(key: Key, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const slot = slotOf(key)
      const inSlot = Effect.suspend(() => {
        const waited = slot.take()
        return waited === null ? work : Effect.andThen(waited, work)
      })
      // The slot is taken inside the effect that releases it, so that no interruption can leak it.
      return Effect.onExitPrimitive(inSlot, () => void slot.leave())
    })

  return { acquire, run }
}
