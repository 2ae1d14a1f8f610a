/** Twelve clients that start and close conversations, with three webhooks. */
import { Clock, Effect, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { type Arrival, delaysOf } from "../Arrivals.ts"
import * as Endpoint from "../Endpoint.ts"
import { Processes } from "../Fixtures.ts"
import * as ProcessorTime from "../ProcessorTime.ts"
import * as Service from "../Service.ts"
import * as Statements from "../Statements.ts"
import { untilPasses } from "../Waiting.ts"
import { resourceOf, serversOf } from "./Requests.ts"

export const writers = 12

interface Pace {
  readonly seconds: number
  /** The number of conversations per second, evenly spaced. With Infinity, each client starts the next one at once. */
  readonly conversations_per_second: number
}

const deadlocks = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly deadlocks: number }>`
    SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()
  `
  return row?.deadlocks ?? 0
})

const count = (statement: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<{ readonly count: number }>(statement)).pipe(
    Effect.map(([row]) => row?.count ?? -1)
  )

/** Lets twelve clients start and close conversations for the set time. Returns the number of responses by status. */
const runWriters = Effect.fnUntraced(function*(cluster: Service.Cluster, { conversations_per_second, seconds }: Pace) {
  const { channel_id, key } = cluster.acme
  const next = serversOf(cluster)
  const statuses = yield* Ref.make<Readonly<Record<string, number>>>({})
  const begun = yield* Clock.currentTimeMillis
  const until = begun + seconds * 1000
  const write = (path: string, name: string, json: unknown) =>
    Processes.request(next(), "POST", path, { key, json, idempotency_key: name }).pipe(
      Effect.tap(({ status }) => Ref.update(statuses, (all) => ({ ...all, [status]: (all[status] ?? 0) + 1 })))
    )
  const writer = Effect.fnUntraced(function*(name: number) {
    for (let number = 0; (yield* Clock.currentTimeMillis) < until; number++) {
      const turn = begun + (number * writers + name) * 1000 / conversations_per_second
      yield* Effect.sleep(Math.max(0, turn - (yield* Clock.currentTimeMillis)))
      // Each client has 500 numbers of its own. None ends with four digits that select a behavior of the mock network.
      const phone = `+4915${String(name * 1_000_000 + number % 500 * 10 + 100).padStart(9, "0")}`
      const started = yield* write(
        "/conversations",
        `start-${name}-${number}`,
        Processes.greeting(channel_id, phone, `n${number}`)
      )
      const { conversation_id } = yield* resourceOf(started)
      yield* write(`/conversations/${conversation_id}/close`, `close-${name}-${number}`, { category: "resolved" })
    }
  })
  yield* Effect.forEach(Array.from({ length: writers }, (_, name) => name), writer, {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Ref.get(statuses)
})

/** Returns the arrival of a post, whose name is its path and its event. */
const arrivalOf = ([name, at]: readonly [string, number]): Arrival => [name.slice(name.indexOf(" ") + 1), at]

/** Measures twelve writers together with their sends and webhooks. */
export const conversations = Effect.fnUntraced(function*(cluster: Service.Cluster, pace: Pace) {
  const { seconds } = pace
  const endpoint = yield* Endpoint.start
  const subscribe = (path: string, ...event_types: ReadonlyArray<string>) =>
    Service.subscribe(cluster.server, cluster.acme.key, `${endpoint.url}/${path}`, event_types)
  yield* subscribe("closed", "conversation.closed")
  yield* subscribe("messages", "message.sent", "message.updated")
  yield* subscribe("several", "conversation.closed", "message.sent", "send.failed")
  const before = yield* deadlocks
  yield* Statements.reset
  const times_before = yield* ProcessorTime.byName
  const begun = yield* Clock.currentTimeMillis
  const statuses = yield* runWriters(cluster, pace)
  const stopped = yield* Clock.currentTimeMillis
  const times = yield* ProcessorTime.byName
  const made = yield* count("SELECT count(*)::int AS count FROM webhook_deliveries")
  const statements = yield* Statements.slowest(made)
  const pending = yield* count("SELECT count(*)::int AS count FROM webhook_deliveries WHERE status = 'pending'")
  const left = count("SELECT count(*)::int AS count FROM work")
  yield* untilPasses(left, { interval: "20 millis", times: 6000, until: (found) => found === 0 })
  const done = yield* Clock.currentTimeMillis
  const { connections, first } = yield* endpoint.received
  const arrivals = first.map(arrivalOf)
  return {
    statuses,
    events_made_per_second: Math.round((yield* count("SELECT count(*)::int AS count FROM webhook_events")) / seconds),
    deliveries_made: made,
    deliveries_pending: pending,
    deliveries_made_per_second: Math.round(made / seconds),
    delivered_per_second: Math.round((made - pending) / seconds),
    all_done_after_ms: done - stopped,
    arrival: yield* delaysOf(arrivals),
    // Without the first ten seconds, in which the processes compile their code.
    arrival_later: yield* delaysOf(arrivals, begun + 10_000),
    connections,
    processor_seconds: Object.fromEntries(
      Object.entries(times).map(([name, time]) => [name, Math.round((time - (times_before[name] ?? 0)) / 10_000) / 100])
    ),
    statements,
    deadlocks: (yield* deadlocks) - before,
    sends_not_settled: yield* count("SELECT count(*)::int AS count FROM sends WHERE status NOT IN ('sent', 'failed')")
  }
})
