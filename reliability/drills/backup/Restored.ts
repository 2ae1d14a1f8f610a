/** The service on a restored database, compared with the responses that the clients of `Writes.ts` received. */
import { Effect } from "effect"
import { on } from "../../../packages/server/testing/databases/PostgresStandby.ts"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import type { Cluster } from "../../../packages/server/testing/processes/Cluster.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import type { CompletedRequest } from "../harness/Writes.ts"

/** Returns the keys of the stored contacts, and the IDs of the stored sends. */
export const storedIn = (url: string) =>
  on(url, (query) =>
    Effect.gen(function*() {
      const contacts = yield* query("SELECT first_name AS key FROM contacts WHERE source = 'kill-test'")
      const sends = yield* query("SELECT id FROM sends")
      return new Set([...contacts.map(({ key }) => key), ...sends.map(({ id }) => id)])
    }))

/** Returns what `storedIn` has if the request took effect. */
export const markOf = ({ id, key, path }: CompletedRequest): string => path === "/contacts" ? key : id

/**
 * Migrates a restored database, starts a server without workers on it, and repeats requests. Returns the keys of those whose
 * response differs from the recorded one.
 */
export const differingReplays = Effect.fnUntraced(
  function*({ acme, environment }: Cluster, url: string, requests: ReadonlyArray<CompletedRequest>) {
    const restored = { ...environment, DATABASE_URL: url }
    const { code, stderr } = yield* Processes.run(["migrate"], restored)
    if (code !== 0) return yield* Effect.die(new Error(`The migration ended with ${code}: ${stderr}`))
    const server = yield* Servers.reserve
    yield* Servers.serveApi(restored, server)
    const repeated = yield* Effect.forEach(requests, (request) =>
      Effect.map(
        Api.request(server, "POST", request.path, {
          key: acme.key,
          json: request.json,
          idempotency_key: request.key
        }),
        ({ text }) => text === request.text ? [] : [request.key]
      ), { concurrency: 8 })
    return repeated.flat()
  },
  Effect.scoped
)
