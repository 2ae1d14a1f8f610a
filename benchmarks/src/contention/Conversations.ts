/** Twelve clients that start and close conversations, with three webhooks. */
import { Clock, Effect, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { delaysOf } from "../harness/Arrivals.ts"
import * as Endpoint from "../harness/Endpoint.ts"
import { Api } from "../harness/Fixtures.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import * as Service from "../harness/Service.ts"
import * as Statements from "../harness/Statements.ts"
import { untilPasses } from "../harness/Waiting.ts"
import { resourceOf, serversOf } from "./Requests.ts"

export const writers = 12

interface Pace {
  readonly seconds: number
  /** The number of conversations per second, evenly spaced. With Infinity, each client starts the next one at once. */
  readonly conversations_per_second: number
}

const countDeadlocks = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly deadlocks: number }>`
    SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()
  `
  return row?.deadlocks ?? 0
})

/** Counts the rows of a table, or those that a condition selects. */
const count = (from: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe<{ readonly count: number }>(`SELECT count(*)::int AS count FROM ${from}`))
    .pipe(Effect.map(([row]) => row?.count ?? -1))

/** The common state of the writers. */
interface Writers {
  readonly pace: Pace
  readonly started_at: number
  readonly channel_id: string
  /** Sends a write, and counts the status of its response. */
  readonly write: (path: string, idempotency_key: string, json: unknown) => ReturnType<typeof Api.request>
}

/** Starts and closes conversations for the set time. */
const runWriter = Effect.fnUntraced(function*(
  { channel_id, pace: { conversations_per_second, seconds }, started_at, write }: Writers,
  writer: number
) {
  const end = started_at + seconds * 1000
  for (let number = 0; (yield* Clock.currentTimeMillis) < end; number++) {
    const due_at = started_at + (number * writers + writer) * 1000 / conversations_per_second
    yield* Effect.sleep(Math.max(0, due_at - (yield* Clock.currentTimeMillis)))
    // Each client has 500 numbers of its own. None ends with four digits that select a behavior of the network.
    const phone = `+4915${String(writer * 1_000_000 + number % 500 * 10 + 100).padStart(9, "0")}`
    const greeting = Api.newConversation(channel_id, phone, `n${number}`)
    const response = yield* write("/conversations", `start-${writer}-${number}`, greeting)
    const { conversation_id } = yield* resourceOf(response)
    yield* write(`/conversations/${conversation_id}/close`, `close-${writer}-${number}`, { category: "resolved" })
  }
})

/** Lets twelve clients start and close conversations. Returns the number of responses by status. */
const runWriters = Effect.fnUntraced(function*(cluster: Service.Cluster, pace: Pace) {
  const { channel_id, key } = cluster.acme
  const nextServer = serversOf(cluster)
  const statuses = yield* Ref.make<Readonly<Record<string, number>>>({})
  const state: Writers = {
    pace,
    started_at: yield* Clock.currentTimeMillis,
    channel_id,
    write: (path, idempotency_key, json) =>
      Api.request(nextServer(), "POST", path, { key, json, idempotency_key }).pipe(
        Effect.tap(({ status }) => Ref.update(statuses, (all) => ({ ...all, [status]: (all[status] ?? 0) + 1 })))
      )
  }
  yield* Effect.forEach(Array.from({ length: writers }, (_, writer) => writer), (writer) => runWriter(state, writer), {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Ref.get(statuses)
})

/** Starts an endpoint, and subscribes it to the events of the writers. */
const subscribeEndpoint = Effect.fnUntraced(function*({ acme, server }: Service.Cluster) {
  const endpoint = yield* Endpoint.start
  const subscribe = (path: string, ...event_types: ReadonlyArray<string>) =>
    Service.subscribe(server, acme.key, `${endpoint.url}/${path}`, event_types)
  yield* subscribe("closed", "conversation.closed")
  yield* subscribe("messages", "message.sent", "message.updated")
  yield* subscribe("several", "conversation.closed", "message.sent", "send.failed")
  return endpoint
})

/** Waits until the work queue is empty. */
const drain = untilPasses(count("work"), { interval: "20 millis", times: 6000, until: (work) => work === 0 })

/** Returns the CPU time between two readings in seconds, by process. */
const secondsBetween = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(after).map(([name, time]) => [name, Math.round((time - (before[name] ?? 0)) / 10_000) / 100])
  )

/** Measures twelve writers together with their sends and webhooks. */
export const conversations = Effect.fnUntraced(function*(cluster: Service.Cluster, pace: Pace) {
  const { seconds } = pace
  const endpoint = yield* subscribeEndpoint(cluster)
  const deadlocks_before = yield* countDeadlocks
  yield* Statements.reset
  const times_before = yield* ProcessorTime.byName
  const started_at = yield* Clock.currentTimeMillis
  const statuses = yield* runWriters(cluster, pace)
  const stopped_at = yield* Clock.currentTimeMillis
  const times = yield* ProcessorTime.byName
  const deliveries = yield* count("webhook_deliveries")
  const statements = yield* Statements.slowest(deliveries)
  const pending = yield* count("webhook_deliveries WHERE status = 'pending'")
  yield* drain
  const drained_at = yield* Clock.currentTimeMillis
  const { connections, first } = yield* endpoint.received
  const arrivals = first.map(Endpoint.arrivalOf)
  return {
    statuses,
    events_made_per_second: Math.round((yield* count("webhook_events")) / seconds),
    deliveries_made: deliveries,
    deliveries_pending: pending,
    deliveries_made_per_second: Math.round(deliveries / seconds),
    delivered_per_second: Math.round((deliveries - pending) / seconds),
    all_done_after_ms: drained_at - stopped_at,
    arrival: yield* delaysOf(arrivals),
    // Without the first ten seconds, in which the processes compile their code.
    arrival_later: yield* delaysOf(arrivals, started_at + 10_000),
    connections,
    processor_seconds: secondsBetween(times_before, times),
    statements,
    deadlocks: (yield* countDeadlocks) - deadlocks_before,
    sends_not_settled: yield* count("sends WHERE status NOT IN ('sent', 'failed')")
  }
})
