/**
 * Keys that this process has not seen at work: those of one address take turns,
 * so that whoever tries keys costs the database a bounded number of statements at once.
 *
 * They are not counted by the minute: behind a proxy that is not trusted all callers have one
 * address, and whoever tries keys there would lock the others out.
 */
import { Effect } from "effect"
import * as ConcurrencyLimiter from "./ConcurrencyLimiter.ts"

/** The maximum of digests that are remembered. Beyond that the oldest is forgotten. */
const known_max = 10_000

/**
 * Makes a function that carries out the look-up of a key in its turn.
 *
 * `digest` is the key's. `address` is asked for an unknown key only; null, of a server without addresses, has no turns.
 */
export const make = (at_once: number) => {
  const known = new Set<string>()
  const limiter = ConcurrencyLimiter.make(at_once)

  const add = (digest: string) => {
    known.add(digest)
    const [oldest] = known
    if (known.size > known_max && oldest !== undefined) known.delete(oldest)
  }

  return <A, E extends { readonly _tag: string }, R, R2>(
    { address, digest }: { readonly address: Effect.Effect<string | null, never, R2>; readonly digest: string },
    lookUp: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R | R2> => {
    const onFailure = (error: E) => {
      if (error._tag === "Unauthorized") known.delete(digest)
      else add(digest)
      return Effect.fail(error)
    }
    const onSuccess = (found: A) => {
      if (!known.has(digest)) add(digest)
      return Effect.succeed(found)
    }
    const tried = Effect.matchEffect(lookUp, { onFailure, onSuccess })
    if (known.has(digest)) return tried
    return Effect.flatMap(address, (address) => address === null ? tried : limiter.run(address, tried))
  }
}
