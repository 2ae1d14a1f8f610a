/**
 * Measures how concurrent writers of one organization affect each other, through
 * HTTP and several processes: `npm run bench:contention`. `-- 60` sets the seconds, and
 * `-- 60 100 50` also the rounds and the number of conversations per second.
 *
 * - Concurrent tags, edits, and notes of one contact: the number of lost acknowledged
 *   updates.
 * - Several clients that start and close conversations, with three webhooks: the delay
 *   of events, and whether a write failed or a deadlock occurred.
 * - Commits of events without webhooks, and with 100: their time in PostgreSQL, before any worker starts.
 * - Reads while another session repeatedly holds a row lock: their duration.
 *
 * Prints one JSON document. Exits with 1 after a lost or rejected update, or a deadlock, or if webhooks make
 * commits too slow.
 */
import { Effect } from "effect"
import { commitTimes } from "./contention/Commits.ts"
import { conversations, writers } from "./contention/Conversations.ts"
import { lockedReads } from "./contention/LockedReads.ts"
import { lostUpdates } from "./contention/LostUpdates.ts"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Processes, Servers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import * as Service from "./harness/Service.ts"

const { conversations_per_second, rounds, seconds } = Arguments.numbers({
  seconds: 30,
  rounds: 1000,
  // By default, each client starts the next conversation at once.
  conversations_per_second: Infinity
})

const measureContention = Effect.gen(function*() {
  const cluster = yield* Service.cluster(2)
  for (const server of cluster.servers) yield* Servers.serveApi(cluster.environment, server)
  return yield* Effect.gen(function*() {
    const commits = yield* commitTimes
    yield* Processes.startMain(["worker"], cluster.environment)
    const lost_updates = yield* lostUpdates(cluster, rounds)
    const reads_of_another_row = yield* lockedReads(cluster)
    const one_organization = yield* conversations(cluster, { seconds, conversations_per_second })
    return {
      seconds,
      writers,
      conversations_per_second,
      commits,
      lost_updates,
      reads_of_another_row,
      one_organization
    }
  }).pipe(Effect.provide(Benchmark.database(cluster.database_url, 6)))
})

await Benchmark.run(() => measureContention, {
  isWithin: Limits.isContentionWithin,
  library: "pg_stat_statements",
  timeout: "15 minutes"
})
