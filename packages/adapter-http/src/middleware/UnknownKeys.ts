/**
 * Limits the concurrent lookups of keys that this process has not accepted before, for each client's network. So a client that
 * guesses keys causes a bounded number of concurrent statements.
 *
 * There is no limit per minute: behind a proxy that is not trusted, all clients have one address, and one that guesses
 * keys would lock out the others.
 */
import { Turns } from "@messaging-crm/core/Turns"
import { Effect } from "effect"
import { ipNetworkOf } from "./ClientAddress.ts"

/** The maximum number of accepted keys that are kept, by their digests. The oldest one is removed. */
const known_max = 10_000

/**
 * Makes a function that looks a key up within the limit.
 *
 * `digest` is the key's. `address` is read for an unknown key only; without an address there is no limit.
 */
export const make = (at_once: number) => {
  const known = new Set<string>()
  const turns = new Turns<string>({ places: Infinity, share: at_once })

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
    return Effect.flatMap(address, (address) => address === null ? tried : turns.run(ipNetworkOf(address), tried))
  }
}
