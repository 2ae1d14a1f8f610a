/**
 * Kills servers with `kill -9` while clients retry, drops the responses to commits, and counts
 * what was lost or duplicated: `npm run kill-test`, or with another number of kills, `-- 20`.
 *
 * Three servers share one database and one network in another process. Clients
 * write to them (`harness/Writes.ts`).
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Proxy from "@messaging-crm/adapter-postgres/testing/Proxy"
import { Effect, Fiber, Random, Redacted, Ref, Schedule } from "effect"
import * as Cluster from "../../packages/server/testing/processes/Cluster.ts"
import { program } from "../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../packages/server/testing/processes/Servers.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"
import * as StoredWrites from "./harness/StoredWrites.ts"
import { occurredViolations } from "./harness/Violations.ts"
import * as Writes from "./harness/Writes.ts"

const kills_wanted = Number(process.argv[2] ?? 120)
const dropped_responses_wanted = Math.ceil(kills_wanted / 2)
const clients = 6

/** The records of the clients and of the killers. */
interface Outcome extends Writes.Outcome {
  readonly kills: number
  /** The number of commits whose response was dropped. */
  readonly dropped_responses: number
}

/** Runs one server and kills it at a random moment, again and again. */
const killer = Effect.fnUntraced(function*(
  { environment }: Cluster.Cluster,
  server: Servers.Server,
  kills: Ref.Ref<number>
) {
  while ((yield* Ref.get(kills)) < kills_wanted) {
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Servers.serve(environment, server, program("server"))
      yield* Effect.sleep(`${yield* Random.nextIntBetween(50, 3000)} millis`)
    }))
    const count = yield* Ref.updateAndGet(kills, (value) => value + 1)
    if (count % 20 === 0) console.log(`${count} kills`)
  }
})

/** Drops the responses to commits, one at a time, at random intervals. */
const responseDropper = Effect.fnUntraced(function*({ loseResponse }: Proxy.Proxy, dropped_responses: Ref.Ref<number>) {
  for (let wanted = 1; wanted <= dropped_responses_wanted; wanted++) {
    yield* loseResponse((statement) => {
      const isCommit = statement.includes("commit_requires")
      if (isCommit) Effect.runSync(Ref.update(dropped_responses, (count) => count + 1))
      return isCommit
    })
    yield* Ref.get(dropped_responses).pipe(
      Effect.repeat({ schedule: Schedule.spaced("50 millis"), until: (count) => count >= wanted })
    )
    yield* Effect.sleep(`${yield* Random.nextIntBetween(100, 700)} millis`)
  }
})

/** Runs clients while servers are killed, then servers that are not killed, until every request has its response. */
const run = Effect.fnUntraced(function*(cluster: Cluster.Cluster) {
  const dropped_responses = yield* Ref.make(0)
  const kills = yield* Ref.make(0)
  const isStopping = Effect.map(
    Effect.all([Ref.get(kills), Ref.get(dropped_responses)]),
    ([killed, dropped]) => killed >= kills_wanted && dropped >= dropped_responses_wanted
  )
  const writers = yield* Writes.make(cluster, clients)
  const writing = yield* Effect.forkChild(writers.writeUntil(isStopping))
  const proxy = yield* Proxy.make(Redacted.make(cluster.database_url))
  const through: Cluster.Cluster = {
    ...cluster,
    environment: { ...cluster.environment, DATABASE_URL: Redacted.value(proxy.url) }
  }
  yield* Effect.forkChild(responseDropper(proxy, dropped_responses))
  yield* Effect.forEach(cluster.servers, (server) => killer(through, server, kills), {
    concurrency: "unbounded",
    discard: true
  })
  yield* Effect.forEach(cluster.servers, (server) => Servers.serve(through.environment, server, program("server")), {
    concurrency: "unbounded"
  })
  yield* Fiber.join(writing)
  yield* writers.repeatAll
  return {
    kills: yield* Ref.get(kills),
    dropped_responses: yield* Ref.get(dropped_responses),
    ...yield* writers.outcome
  } satisfies Outcome
})

/** Compares the responses with what is stored and sent. Prints the result and returns whether the drill passed. */
const verify = (outcome: Outcome, stored: StoredWrites.Stored) => {
  const { dropped_responses, kills } = outcome
  // The network is never down, so a send that was not accepted is one whose response was lost.
  const isVisible = ({ failure_reason, status }: StoredWrites.Stored["sends"][number]) =>
    status === "sent" || failure_reason === "outcome_unknown"
  const violations = [
    ...StoredWrites.violationsOf(outcome, stored),
    ...occurredViolations({
      "a lost response was neither settled nor ended as outcome_unknown": !stored.sends.every(isVisible),
      [`only ${dropped_responses} responses to commits were dropped`]: dropped_responses < dropped_responses_wanted
    })
  ]
  console.log(JSON.stringify({ kills, dropped_responses, ...StoredWrites.countsOf(stored), violations }))
  return violations.length === 0
}

const drill = Effect.gen(function*() {
  const cluster = yield* Cluster.make({
    servers: 3,
    environment: {
      RATE_LIMIT_PER_MINUTE: "1000000",
      DATABASE_POOL: "8",
      LOG_LEVEL: "error",
      LOG_FORMAT: "json"
    }
  })
  const outcome = yield* run(cluster)
  const stored = yield* StoredWrites.loadStored(cluster).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(cluster.database_url) }))
  )
  return verify(outcome, stored)
})

await runDrill(withPostgres(drill).pipe(Effect.timeout("20 minutes")))
