/**
 * Measures what one worker costs: `npm run bench:worker`, or with another number
 * of items, `-- 8000`.
 *
 * Deliveries to one webhook and to sixteen, sends, and messages that come in,
 * alone and in batches: how many a second, and the processor time of each in
 * Node and in PostgreSQL. The endpoint, the mock network and what measures are
 * processes of their own, on the same machine. Prints one JSON document. Reads
 * `/proc`, so Linux only.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { start as startPostgres } from "@messaging-crm/server/EmbeddedPostgres"
import { Clock, DateTime, Effect, Redacted, Schedule, Schema } from "effect"
import { ConfigProvider } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import * as Processes from "../../packages/server/testing/Processes.ts"
import * as Backlog from "./Backlog.ts"
import * as Endpoint from "./Endpoint.ts"
import * as ProcessorTime from "./ProcessorTime.ts"

const items = Number(process.argv[2] ?? 6000)
const warm_up = 600

type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const subscribe = ({ acme, servers }: Cluster, url: string) =>
  Processes.request(servers[0] ?? { port: 0, url: "" }, "POST", "/webhooks", {
    key: acme.key,
    json: { url, event_types: ["message.received"] }
  }).pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Created)(text)),
    Effect.map(({ data }) => data.id)
  )

const left = SqlClient.SqlClient.use((sql) => sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM work`)
  .pipe(Effect.map(([row]) => row?.count ?? -1))

/** Waits until nothing is queued, for five minutes at most. */
const untilDone = left.pipe(
  Effect.repeat({ schedule: Schedule.spaced("50 millis"), times: 6000, until: (count) => count === 0 })
)

/** Runs something that carries out so many items, and returns what each has cost. */
const measured = Effect.fnUntraced(function*<A, E, R>(pid: number, count: number, run: Effect.Effect<A, E, R>) {
  const times = Effect.all([ProcessorTime.ofProcess(pid), ProcessorTime.ofPostgres, Clock.currentTimeMillis])
  const [node, postgres, begun] = yield* times
  yield* run
  const [node_after, postgres_after, ended] = yield* times
  return {
    per_second: Math.round(count * 1000 / (ended - begun)),
    node_us: Math.round((node_after - node) / count),
    postgres_us: Math.round((postgres_after - postgres) / count)
  }
})

/** The statements that took the most time, for each item. */
const statements = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly calls: number; readonly us: number; readonly query: string }>`
    SELECT calls::float8 AS calls, (total_exec_time + total_plan_time) * 1000 AS us, query
    FROM pg_stat_statements
    WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'
    ORDER BY total_exec_time + total_plan_time DESC
    LIMIT 8
  `
  return rows.map(({ calls, query, us }) =>
    `${(calls / count).toFixed(2)} x ${Math.round(us / calls)} us = ${Math.round(us / count)} us: ${
      query.replaceAll(/\s+/g, " ").slice(0, 90)
    }`
  )
})

const counted = Effect.fnUntraced(function*<A, E, R>(pid: number, count: number, run: Effect.Effect<A, E, R>) {
  yield* SqlClient.SqlClient.use((sql) => sql`SELECT pg_stat_statements_reset()`)
  const cost = yield* measured(pid, count, run)
  return { ...cost, statements: yield* statements(count) }
})

const starting = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const profile = process.env["PROFILE"]
  const flags = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }
  const { child, exited } = yield* Processes.start(Processes.main, ["worker", "--json"], { ...environment, ...flags })
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.sync(() => child.kill("SIGTERM")), Effect.timeoutOption(exited, "10 seconds"))
  )
  yield* Effect.callback<void>((resume) => void child.stdout?.once("data", () => resume(Effect.void)))
  return child.pid ?? 0
})

/** Deliveries that are all due, to so many webhooks. */
const deliveries = Effect.fnUntraced(function*(cluster: Cluster, webhooks: number) {
  const endpoint = yield* Endpoint.start
  const ids = yield* Effect.forEach(
    Array.from({ length: webhooks }, (_, index) => index),
    (index) => subscribe(cluster, `${endpoint.url}/hook/${index}`)
  )
  const pid = yield* starting(cluster.environment)
  const { organization_id } = cluster.acme
  yield* Effect.andThen(Backlog.queue(organization_id, ids, warm_up / webhooks), untilDone)
  yield* SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)
  const cost = yield* counted(
    pid,
    items,
    Effect.andThen(Backlog.queue(organization_id, ids, items / webhooks), untilDone)
  )
  const { connections, posts } = yield* endpoint.heard
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  )
  return { ...cost, posts, connections }
}, Effect.scoped)

/** Sends to numbers of their own, all of which are due. */
const sends = Effect.fnUntraced(function*(cluster: Cluster) {
  const { acme, servers: [server] } = cluster
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const count = Math.floor(items / 3)
  const start = (number: number) =>
    Processes.request(server, "POST", "/conversations", {
      key: acme.key,
      json: Processes.greeting(acme.channel_id, `+49151${5_000_000 + number}`, `n${number}`),
      idempotency_key: `start-${number}`
    })
  yield* Effect.forEach(Array.from({ length: count }, (_, number) => number), start, { concurrency: 16, discard: true })
  yield* SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)
  const pid = yield* starting(cluster.environment)
  return yield* counted(pid, count, untilDone)
}, Effect.scoped)

const written = (channel_id: string, number: number): ProviderEvent => ({
  event: "message_received",
  channel_id: ChannelId.make(channel_id),
  provider_message_id: `bench-${number}`,
  from: { external_id: `+49152${5_000_000 + number % 1000}`, display_name: "Kim", username: null },
  type: "text",
  text: "How are you?",
  media: null,
  sent_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z")
})

/** Messages that come in: so many to a callback, so many callbacks at a time. */
const inbound = Effect.fnUntraced(function*(cluster: Cluster, pid: number, batch: number, concurrency: number) {
  const { acme, servers: [server] } = cluster
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const callBack = yield* Processes.calledBack(cluster.environment)
  const first = batch * 1_000_000
  const callbacks = Array.from(
    { length: Math.floor(items / batch) },
    (_, callback) =>
      Array.from({ length: batch }, (_, index) => written(acme.channel_id, first + callback * batch + index))
  )
  yield* SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)
  return yield* counted(
    pid,
    callbacks.length * batch,
    Effect.forEach(callbacks, (events) => callBack(server, events), { concurrency, discard: true })
  )
})

const benchmark = Effect.gen(function*() {
  const cluster = yield* Processes.cluster({
    servers: 1,
    environment: {
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
      LOG_FORMAT: "json",
      RATE_LIMIT_PER_MINUTE: "1000000",
      REQUESTS_AT_ONCE: "1000"
    }
  })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const { child } = yield* Processes.start(
    Processes.main,
    ["serve", "--no-worker", "--port", String(server.port)],
    cluster.environment
  )
  yield* Processes.untilUp(`${server.url}/health/ready`)
  const only = process.argv[3]?.split(",")
  const parts = {
    deliveries_1: deliveries(cluster, 1),
    deliveries_16: deliveries(cluster, 16),
    sends: sends(cluster),
    inbound_1: inbound(cluster, child.pid ?? 0, 1, 16),
    inbound_25: inbound(cluster, child.pid ?? 0, 25, 4)
  }
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 2 })
  return yield* Effect.gen(function*() {
    yield* SqlClient.SqlClient.use((sql) => sql`CREATE EXTENSION pg_stat_statements`)
    const results: Record<string, unknown> = {}
    for (const [name, part] of Object.entries(parts)) {
      if (only === undefined || only.includes(name)) results[name] = yield* part
    }
    return results
  }).pipe(Effect.provide(database))
}).pipe(Effect.scoped)

const program = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-bench-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const preload = SqlClient.SqlClient.use((sql) =>
    sql.unsafe("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
  )
  // Counting is a library that PostgreSQL loads at its next start.
  yield* Effect.scoped(
    Effect.flatMap(
      startPostgres({ directory }),
      (url) => Effect.provide(preload, Client.layer({ url: Redacted.make(url) }))
    )
  )
  const [load_before] = loadavg()
  const url = yield* startPostgres({ directory })
  const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url }))
  const results = yield* Effect.provide(benchmark, environment)
  const machine = { processors: cpus().length, model: cpus()[0]?.model, node: process.version, load_before }
  return { machine, items, ...results }
}).pipe(Effect.scoped, Effect.timeout("10 minutes"))

console.log(JSON.stringify(await Effect.runPromise(program), null, 2))
process.exit(0)
