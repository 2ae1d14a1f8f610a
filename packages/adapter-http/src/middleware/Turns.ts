/** How many requests of one key are at work at once in a process: one key cannot take the others' turns. */
import type { ApiKeyId } from "@messaging-crm/core/Ids"
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

/** The requests of a key: how many are at work, and those that wait, the first first. */
interface Turns {
  running: number
  readonly waiting: Set<() => void>
}

/** Returns what carries out a request of a key when it is its turn, or something else when that takes too long. */
export const make = (at_once: number) => {
  const all = new Map<ApiKeyId, Turns>()

  const leave = (key_id: ApiKeyId, turns: Turns) => {
    const [next] = turns.waiting
    if (next !== undefined) return next()
    turns.running--
    if (turns.running === 0) all.delete(key_id)
  }

  /** Waits in line. A finished request hands its place to the first that waits, so the count does not change. */
  const wait = (turns: Turns, duration: Duration.Duration) =>
    Effect.callback<boolean>((resume) => {
      const answer = (isTurn: boolean) => {
        clearTimeout(timer)
        turns.waiting.delete(take)
        resume(Effect.succeed(isTurn))
      }
      const take = () => answer(true)
      const timer = setTimeout(() => answer(false), Duration.toMillis(duration))
      turns.waiting.add(take)
    })

  return <A, E, R, B, E2, R2>(
    key_id: ApiKeyId,
    work: Effect.Effect<A, E, R>,
    otherwise: Effect.Effect<B, E2, R2>
  ): Effect.Effect<A | B, E | E2, R | R2> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(TurnWait, (duration) => {
        const turns = all.get(key_id) ?? { running: 0, waiting: new Set() }
        all.set(key_id, turns)
        const carriedOut = Effect.ensuring(restore(work), Effect.sync(() => leave(key_id, turns)))
        if (turns.running < at_once) {
          turns.running++
          return carriedOut
        }
        return Effect.flatMap(
          wait(turns, duration),
          (isTurn): Effect.Effect<A | B, E | E2, R | R2> => isTurn ? carriedOut : otherwise
        )
      })
    )
}
