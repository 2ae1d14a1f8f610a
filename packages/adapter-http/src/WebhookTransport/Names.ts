import { Effect } from "effect"
import { Resolver } from "node:dns/promises"

/** Finds every address of a host: none when the name leads nowhere. */
export type Resolve = (hostname: string) => Effect.Effect<ReadonlyArray<string>>

const resolver = new Resolver({ timeout: 1500, tries: 2 })

const asked = (query: () => Promise<ReadonlyArray<string>>) => Effect.orElseSucceed(Effect.tryPromise(query), () => [])

/**
 * Asks the name servers themselves.
 *
 * `dns.lookup` waits in one of the four threads that signatures and files need
 * too, so four names whose servers never answer would hold up everything. The
 * price: the hosts file is not read, but for `localhost`.
 */
export const resolve: Resolve = (hostname) =>
  /(?:^|\.)localhost\.?$/.test(hostname)
    ? Effect.succeed(["127.0.0.1"])
    : Effect.map(
      Effect.all([asked(() => resolver.resolve4(hostname)), asked(() => resolver.resolve6(hostname))], {
        concurrency: 2
      }),
      (answers) => answers.flat()
    )
