/**
 * Conflict retries: the pauses and the order of operations that had a conflict.
 *
 * Operations on the same row retry one after the other inside the process, because each of them would conflict again.
 */
import { Context, Duration, Effect, Random, Semaphore } from "effect"
import type { Changes } from "./Changes.ts"

/** The maximum number of attempts of one operation, about two seconds of conflicts. After that it fails. */
export const tries_max = 50

/** The number of semaphores. Operations that had a conflict on the same row share one. */
const stripes = 64

/** The longest pause after a conflict. A reference, so that tests with a stopped clock can set it to zero. */
export const ConflictBackoff = Context.Reference<Duration.Duration>(
  "@messaging-crm/core/ConflictRetries/ConflictBackoff",
  {
    defaultValue: () => Duration.millis(50)
  }
)

/** Returns the pause after a conflict in milliseconds: 2, 3, 4.5 … up to `longest`, with 50 % of jitter. */
const backoff = (tries: number, longest: Duration.Duration, random: number): number =>
  Math.min(Duration.toMillis(longest), 2 * 1.5 ** (tries - 1)) * (0.5 + random)

/** Returns the semaphore's index for the first row that the changes update or expect; null if they only insert rows. */
const stripeOf = ({ expect = [], update = [] }: Changes): number | null => {
  const [first] = [...update, ...expect]
  if (first === undefined) return null
  let hash = 0
  for (const character of Object.values(first.key).join()) hash = (hash * 31 + character.charCodeAt(0)) | 0
  return Math.abs(hash) % stripes
}

/** Makes the functions that delay retries. All operations of a process share them. */
export const make = Effect.gen(function*() {
  const longest = yield* ConflictBackoff
  const semaphores = Array.from({ length: stripes }, () => Semaphore.makeUnsafe(1))

  return {
    /**
     * Runs the retries of operations on the same row one after the other. `changes` are those that had the conflict. Changes
     * that only insert rows do not wait: their retry finds the existing row.
     */
    inTurn: <A, E, R>(changes: Changes, retries: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
      const semaphore = semaphores[stripeOf(changes) ?? -1]
      return semaphore === undefined ? retries : Semaphore.withPermit(semaphore, retries)
    },
    /** Pauses after the given number of attempts. */
    pause: Effect.fnUntraced(function*(tries: number) {
      const millis = backoff(tries, longest, yield* Random.next)
      yield* millis > 0 ? Effect.sleep(millis) : Effect.yieldNow
    })
  }
})
