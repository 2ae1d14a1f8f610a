/** How many things of one key, address or organization a process does at once. More wait for their turn, in order. */
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"

/** How many requests of a key are at work at once in a process. A reference, so that an operator may raise it. */
export const RequestsAtOnce = Context.Reference<number>("@messaging-crm/adapter-http/middleware/Turns/RequestsAtOnce", {
  defaultValue: () => limits.requests_at_once
})

/** What one holder has: how much is at work, and what waits, the first first. */
interface Turns {
  running: number
  readonly waiting: Set<() => void>
}

/** The maximum of holders that are remembered while they have nothing at work. */
const idle_max = 10_000

/** Makes turns of which each holder has so many at once. */
export const make = <Holder extends string>(at_once: number) => {
  const all = new Map<Holder, Turns>()

  const turnsOf = (holder: Holder): Turns => {
    const known = all.get(holder)
    if (known !== undefined) return known
    const made: Turns = { running: 0, waiting: new Set() }
    all.set(holder, made)
    return made
  }

  const leave = (holder: Holder, turns: Turns): void => {
    // What has finished hands its turn to the first that waits, so the count does not change.
    for (const take of turns.waiting) return take()
    turns.running--
    if (turns.running === 0 && all.size > idle_max) all.delete(holder)
  }

  /** Waits in line, for as long as the caller does. */
  const wait = (holder: Holder, turns: Turns) =>
    Effect.callback<void>((resume) => {
      const take = () => {
        turns.waiting.delete(take)
        // What waited goes on later: of a long line each would else run inside of the one before.
        resume(Effect.yieldNow)
      }
      turns.waiting.add(take)
      // Interrupted, it leaves the line, or hands on the turn that it has got meanwhile.
      return Effect.sync(() => turns.waiting.delete(take) ? undefined : leave(holder, turns))
    })

  /** Takes a turn; null when it is taken already, else the effect that waits for it. */
  const enter = (holder: Holder, turns: Turns): Effect.Effect<void> | null => {
    if (turns.running >= at_once) return wait(holder, turns)
    turns.running++
    return null
  }

  /** Takes a turn and does something with it. From then on it is not interrupted, so that no turn is lost. */
  const taken = <A, E, R>(
    holder: Holder,
    use: (
      leaving: Effect.Effect<void>,
      restore: <A2, E2, R2>(effect: Effect.Effect<A2, E2, R2>) => Effect.Effect<A2, E2, R2>
    ) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) => {
      const turns = turnsOf(holder)
      const waited = enter(holder, turns)
      const used = use(Effect.sync(() => leave(holder, turns)), restore)
      return waited === null ? used : Effect.andThen(restore(waited), used)
    })

  /** Takes a turn until the scope ends. */
  const hold = (holder: Holder) => taken(holder, (leaving) => Effect.addFinalizer(() => leaving))

  /** Carries something out in a turn. */
  const carryOut = <A, E, R>(holder: Holder, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    taken(holder, (leaving, restore) => Effect.ensuring(restore(work), leaving))

  return { hold, carryOut }
}
