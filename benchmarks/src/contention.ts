/**
 * Measures how concurrent writers of one organization affect each other, through
 * HTTP and several processes: `npm run bench:contention`, or with other seconds, `-- 60`,
 * and then fewer rounds, and a number of conversations a second, `-- 60 100 50`.
 *
 * - Concurrent tags, edits and notes of one contact: how many acknowledged updates
 *   are lost.
 * - Twelve clients that start and close conversations, with three webhooks: how
 *   soon events arrive, and whether a write failed or a deadlock occurred.
 * - Reads while another session holds a row lock for a second at a time: how long
 *   they take.
 *
 * Prints one JSON document.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted } from "effect"
import { conversations, writers } from "./contention/Conversations.ts"
import { lockedReads } from "./contention/LockedReads.ts"
import { lostUpdates } from "./contention/LostUpdates.ts"
import { Processes } from "./Fixtures.ts"
import * as Service from "./Service.ts"

const seconds = Number(process.argv[2] ?? 30)
const rounds = Number(process.argv[3] ?? 1000)
/** How many conversations are started and closed a second, evenly. By default each client begins the next one at once. */
const conversations_per_second = Number(process.argv[4] ?? Infinity)

const benchmark = Effect.gen(function*() {
  const cluster = yield* Service.cluster(2)
  for (const server of cluster.servers) yield* Processes.serveApi(cluster.environment, server)
  yield* Processes.startMain(["worker"], cluster.environment)
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 6 })
  return yield* Effect.gen(function*() {
    const lost_updates = yield* lostUpdates(cluster, rounds)
    const reads_of_another_row = yield* lockedReads(cluster)
    const one_organization = yield* conversations(cluster, { seconds, conversations_per_second })
    return { seconds, writers, conversations_per_second, lost_updates, reads_of_another_row, one_organization }
  }).pipe(Effect.provide(database))
})

await Service.measure(() => benchmark, { library: "pg_stat_statements", timeout: "15 minutes" })
