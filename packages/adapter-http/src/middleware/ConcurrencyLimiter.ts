/** How many things of one key, address or organization a process does at once. More wait for their slot, in order. */
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"

/** How many requests of a key are at work at once in a process. A reference, so that an operator may raise it. */
export const RequestsAtOnce = Context.Reference<number>(
  "@messaging-crm/adapter-http/middleware/ConcurrencyLimiter/RequestsAtOnce",
  {
    defaultValue: () => limits.requests_at_once
  }
)

/** What one key has: how much is at work, and what waits, the first first. */
interface Slots {
  running: number
  readonly waiting: Set<() => void>
}

/** The maximum of keys that are remembered while they have nothing at work. */
const idle_max = 10_000

/** Makes slots of which each key has so many at once. */
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
    // What has finished hands its slot to the first that waits, so the count does not change.
    for (const take of slots.waiting) return take()
    slots.running--
    if (slots.running === 0 && all.size > idle_max) all.delete(key)
  }

  /** Waits in line, for as long as the caller does. */
  const wait = (key: Key, slots: Slots) =>
    Effect.callback<void>((resume) => {
      const take = () => {
        slots.waiting.delete(take)
        // What waited goes on later: of a long line each would else run inside of the one before.
        resume(Effect.yieldNow)
      }
      slots.waiting.add(take)
      // Interrupted, it leaves the line, or hands on the slot that it has got meanwhile.
      return Effect.sync(() => slots.waiting.delete(take) ? undefined : leave(key, slots))
    })

  /** Takes a slot; null when it is taken already, else the effect that waits for it. */
  const enter = (key: Key, slots: Slots): Effect.Effect<void> | null => {
    if (slots.running >= at_once) return wait(key, slots)
    slots.running++
    return null
  }

  /** Takes a slot and does something with it. From then on it is not interrupted, so that no slot is lost. */
  const taken = <A, E, R>(
    key: Key,
    use: (
      leaving: Effect.Effect<void>,
      restore: <A2, E2, R2>(effect: Effect.Effect<A2, E2, R2>) => Effect.Effect<A2, E2, R2>
    ) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) => {
      const slots = slotsOf(key)
      const waited = enter(key, slots)
      const used = use(Effect.sync(() => leave(key, slots)), restore)
      return waited === null ? used : Effect.andThen(restore(waited), used)
    })

  /** Takes a slot until the scope ends. */
  const acquire = (key: Key) => taken(key, (leaving) => Effect.addFinalizer(() => leaving))

  /** Carries something out in a slot. */
  const run = <A, E, R>(key: Key, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    taken(key, (leaving, restore) => Effect.ensuring(restore(work), leaving))

  return { acquire, run }
}
