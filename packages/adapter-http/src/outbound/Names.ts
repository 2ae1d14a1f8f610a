import { Effect } from "effect"
import { Resolver } from "node:dns/promises"

/** Finds every address of a host. The list is empty when the name has none. */
export type Resolve = (hostname: string) => Effect.Effect<ReadonlyArray<string>>

const found = (query: () => Promise<ReadonlyArray<string>>) => Effect.orElseSucceed(Effect.tryPromise(query), () => [])

/** Queries a resolver for IPv4 and IPv6. A failure of one does not hide the other. */
export const resolveWith = (resolver: Resolver): Resolve => (hostname) =>
  /(?:^|\.)localhost\.?$/.test(hostname)
    ? Effect.succeed(["127.0.0.1"])
    : Effect.map(
      Effect.all([found(() => resolver.resolve4(hostname)), found(() => resolver.resolve6(hostname))], {
        concurrency: 2
      }),
      (answers) => answers.flat()
    )

/**
 * Queries the name servers directly.
 *
 * `dns.lookup` waits in one of the four threads that signatures and files need
 * too, so four names whose servers never respond would block all of these.
 * As a consequence, the hosts file is not read; only `localhost` is resolved without a name server.
 */
export const resolve: Resolve = resolveWith(new Resolver({ timeout: 1500, tries: 2 }))
