/** How many things of one key, or of one organization, a process does at once: none can take the others' turns. */
import { limits } from "@messaging-crm/core/Limits"
import { Context, Duration, Effect } from "effect"

/** How long a request waits for its turn. A reference, so that a test may set it. */
export const TurnWait = Context.Reference<Duration.Duration>("@messaging-crm/adapter-http/middleware/Turns/TurnWait", {
  defaultValue: () => Duration.seconds(1)
})

/** How many requests of a key are at work at once in a process. A reference, so that an operator may raise it. */
export const RequestsAtOnce = Context.Reference<number>("@messaging-crm/adapter-http/middleware/Turns/RequestsAtOnce", {
  defaultValue: () => limits.requests_at_once
})

/** What one holder has: how much is at work, and what waits, the first first. */
interface Turns {
  running: number
  readonly waiting: Array<() => void>
}

/** The maximum of holders that are remembered while they have nothing at work. */
const idle_max = 10_000

/** Makes turns of which each holder has so many at once. */
export const make = <Holder extends string>(at_once: number) => {
  const all = new Map<Holder, Turns>()

  const turnsOf = (holder: Holder): Turns => {
    const known = all.get(holder)
    if (known !== undefined) return known
    const made: Turns = { running: 0, waiting: [] }
    all.set(holder, made)
    return made
  }

  /** Waits in line. What has finished hands its place to the first that waits, so the count does not change. */
  const wait = (turns: Turns, duration: Duration.Duration) =>
    Effect.callback<boolean>((resume) => {
      const answer = (isTurn: boolean) => {
        clearTimeout(timer)
        // Those that wait longest are answered first, so it is found at once however many wait.
        turns.waiting.splice(turns.waiting.indexOf(take), 1)
        resume(Effect.succeed(isTurn))
      }
      const take = () => answer(true)
      const timer = setTimeout(() => answer(false), Duration.toMillis(duration))
      turns.waiting.push(take)
    })

  /** Takes a turn, and returns whether there was one in time. Not interruptible: who has a turn must leave. */
  const enter = (holder: Holder): Effect.Effect<boolean> =>
    Effect.flatMap(TurnWait, (duration) => {
      const turns = turnsOf(holder)
      if (turns.running >= at_once) return Effect.uninterruptible(wait(turns, duration))
      turns.running++
      return Effect.succeed(true)
    })

  const leave = (holder: Holder): Effect.Effect<void> =>
    Effect.sync(() => {
      const turns = all.get(holder)
      if (turns === undefined) return
      const [next] = turns.waiting
      if (next !== undefined) return next()
      turns.running--
      if (turns.running === 0 && all.size > idle_max) all.delete(holder)
    })

  /** Takes a turn until the scope ends, and returns whether there was one in time. */
  const hold = (holder: Holder) =>
    Effect.acquireRelease(enter(holder), (isTurn) => isTurn ? leave(holder) : Effect.void)

  /** Carries something out in a turn, or something else when there was none in time. */
  const carryOut = <A, E, R, B, E2, R2>(
    holder: Holder,
    work: Effect.Effect<A, E, R>,
    otherwise: Effect.Effect<B, E2, R2>
  ): Effect.Effect<A | B, E | E2, R | R2> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        enter(holder),
        (isTurn): Effect.Effect<A | B, E | E2, R | R2> =>
          isTurn ? Effect.ensuring(restore(work), leave(holder)) : otherwise
      )
    )

  return { hold, carryOut }
}
