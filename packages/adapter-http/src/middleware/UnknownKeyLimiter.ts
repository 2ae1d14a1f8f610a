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
 * `digest` is the key's; a null `address`, of a server without one, has no turns.
 */
export const make = (at_once: number) => {
  const known = new Set<string>()
  const limiter = ConcurrencyLimiter.make(at_once)

  const add = (digest: string) => {
    known.add(digest)
    const [oldest] = known
    if (known.size > known_max && oldest !== undefined) known.delete(oldest)
  }

  return <A, E extends { readonly _tag: string }, R>(
    { address, digest }: { readonly address: string | null; readonly digest: string },
    lookUp: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> => {
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
    return address === null || known.has(digest) ? tried : limiter.run(address, tried)
  }
}
