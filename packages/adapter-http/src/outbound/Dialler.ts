/**
 * Dialler: opens connections to addresses that a stranger named.
 *
 * For each connection the name is resolved once, every address is checked, and
 * the connection is made to one of these checked addresses.
 */
import { Effect } from "effect"
import { isIP } from "node:net"
import { isPublic } from "./Addresses.ts"
import { connected, dial, hostOf, Unanswered } from "./Connection.ts"
import { Connection } from "./IdleConnections.ts"
import { type Resolve, resolve } from "./Names.ts"

export interface DiallerOptions {
  /** Decides which non-public addresses may be connected to, with http or https; null allows none. */
  readonly allowed: ((address: string) => boolean) | null
  /** The name resolution: it queries the name servers. */
  readonly resolve?: Resolve | undefined
}

const connect_timeout = "5 seconds"

/** Returns a function that opens a connection. `release` is called with it at the end of the scope, also while it opens. */
export const make = ({ allowed, resolve: lookup = resolve }: DiallerOptions) => {
  /** Public addresses require https. http is for allowed networks only. */
  const mayConnectTo = (url: URL) => (address: string) =>
    allowed?.(address) === true || (url.protocol === "https:" && isPublic(address))

  const addressesOf = Effect.fnUntraced(function*(url: URL) {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? yield* lookup(host) : [host]
    if (addresses.length === 0) return yield* new Unanswered({ failure_code: "dns_error" })
    if (!addresses.every(mayConnectTo(url))) return yield* new Unanswered({ failure_code: "blocked_address" })
    return addresses
  })

  const connect = Effect.fnUntraced(function*(url: URL, release: (connection: Connection) => Effect.Effect<void>) {
    const addresses = yield* addressesOf(url)
    const dialled = Effect.sync(() => new Connection(url, dial(url, addresses)))
    const connection = yield* Effect.acquireRelease(dialled, release)
    yield* connected(url, connection.socket)
    return connection
  })

  return (url: URL, release: (connection: Connection) => Effect.Effect<void>) =>
    connect(url, release).pipe(
      Effect.timeoutOrElse({
        duration: connect_timeout,
        orElse: () => Effect.fail(new Unanswered({ failure_code: "timeout" }))
      })
    )
}
