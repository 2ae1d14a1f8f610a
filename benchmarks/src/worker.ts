/**
 * Measures the cost of one worker: `npm run bench:worker`. `-- 8000` sets the number of items, and
 * `-- 8000 sends,inbound_1` selects parts.
 *
 * Deliveries to one webhook and to sixteen, sends, and inbound messages, alone
 * and in batches: the number per second, and the CPU time of each in Node and
 * in PostgreSQL. The worker is stopped while its items are queued, and measured from when it
 * continues. The endpoint, the mock network, and the benchmark itself are
 * separate processes on the same machine. Prints one JSON document. Reads `/proc`,
 * so it works on Linux only.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Clock, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Arguments from "./Arguments.ts"
import * as Backlog from "./Backlog.ts"
import * as Endpoint from "./Endpoint.ts"
import { Processes } from "./Fixtures.ts"
import * as ProcessorTime from "./ProcessorTime.ts"
import * as Service from "./Service.ts"
import * as Statements from "./Statements.ts"
import { untilPasses } from "./Waiting.ts"

const names = ["deliveries_1", "deliveries_16", "sends", "inbound_1", "inbound_25"] as const

const [count, given, ...others] = process.argv.slice(2)
if (others.length > 0) throw new Error("The arguments must be at most: items, parts.")
const { items } = Arguments.numbers({ items: 6000 }, count === undefined ? [] : [count])
const chosen = Arguments.chosen("The parts", names, given?.split(","))
const warm_up = 600
/** The mock network accepts every send to this number and to those that follow. The last four digits 0001 to 0009 select another behavior. */
const first_number = 5_000_010

const queued = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM work`
).pipe(Effect.map(([row]) => row?.count ?? -1))

/** Waits until the queue is empty, for five minutes at most. */
const untilDone = untilPasses(queued, { interval: "50 millis", times: 6000, until: (count) => count === 0 })

/** Runs an effect that processes `count` items, and returns the cost of one. */
const measureCost = Effect.fnUntraced(function*<A, E, R>(pid: number, count: number, run: Effect.Effect<A, E, R>) {
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

const measureCostAndStatements = Effect.fnUntraced(
  function*<A, E, R>(pid: number, count: number, run: Effect.Effect<A, E, R>) {
    yield* Statements.reset
    const cost = yield* measureCost(pid, count, run)
    return { ...cost, statements: yield* Statements.slowest(count) }
  }
)

/** Starts a worker, and returns its process id. */
const startWorker = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const profile = process.env["PROFILE"]
  const flags = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }
  const { child, exited } = yield* Processes.startMain(["worker", "--json"], { ...environment, ...flags })
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.sync(() => child.kill("SIGTERM")), Effect.timeoutOption(exited, "10 seconds"))
  )
  yield* Service.firstLine(child)
  return child.pid ?? 0
})

/** Dies unless the status of a response is 2xx: the figures count only processed items. */
const requireSuccess = (status: number): Effect.Effect<void> =>
  status >= 200 && status < 300 ? Effect.void : Effect.die(new Error(`A response has the status ${status}.`))

/** Queues items while a worker is stopped, and measures it from when it continues. */
const measureBacklog = Effect.fnUntraced(
  function*<A, E, R>(pid: number, count: number, enqueue: Effect.Effect<A, E, R>) {
    process.kill(pid, "SIGSTOP")
    yield* enqueue
    yield* SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)
    const finish = Effect.andThen(Effect.sync(() => process.kill(pid, "SIGCONT")), untilDone)
    return yield* measureCostAndStatements(pid, count, finish)
  }
)

/** Measures deliveries to a number of webhooks, all due from the start. */
const deliveries = Effect.fnUntraced(function*(cluster: Service.Cluster, webhooks: number) {
  const endpoint = yield* Endpoint.start
  const ids = yield* Effect.forEach(
    Array.from({ length: webhooks }, (_, index) => index),
    (index) => Service.subscribe(cluster.server, cluster.acme.key, `${endpoint.url}/hook/${index}`)
  )
  const pid = yield* startWorker(cluster.environment)
  const { organization_id } = cluster.acme
  const each = Math.ceil(items / webhooks)
  yield* Effect.andThen(Backlog.enqueueDeliveries(organization_id, ids, Math.ceil(warm_up / webhooks)), untilDone)
  const enqueue = Backlog.enqueueDeliveries(organization_id, ids, each)
  const cost = yield* measureBacklog(pid, each * webhooks, enqueue)
  const { connections, posts } = yield* endpoint.received
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  )
  return { ...cost, posts, connections }
}, Effect.scoped)

/** Measures sends to different numbers, all due from the start. */
const sends = Effect.fnUntraced(function*(cluster: Service.Cluster) {
  const { acme, server } = cluster
  const count = Math.floor(items / 3)
  const start = (number: number) =>
    Processes.request(server, "POST", "/conversations", {
      key: acme.key,
      json: Processes.greeting(acme.channel_id, `+49151${first_number + number}`, `n${number}`),
      idempotency_key: `bench-start-${number}`
    }).pipe(Effect.flatMap(({ status }) => requireSuccess(status)))
  const startAll = (first: number, sends: number) =>
    Effect.forEach(Array.from({ length: sends }, (_, index) => first + index), start, {
      concurrency: 16,
      discard: true
    })
  const pid = yield* startWorker(cluster.environment)
  yield* Effect.andThen(startAll(count, warm_up), untilDone)
  return yield* measureBacklog(pid, count, startAll(0, count))
}, Effect.scoped)

/** Measures inbound messages: `batch` in each callback, `concurrency` callbacks at once. */
const inbound = Effect.fnUntraced(function*(cluster: Service.Cluster, pid: number, batch: number, concurrency: number) {
  const { acme, server } = cluster
  const callBack = yield* Processes.callbackSender(cluster.environment)
  const first = batch * 1_000_000
  const messageOf = (number: number) =>
    Service.messageReceived(acme.channel_id, `bench-${number}`, `+49152${5_000_000 + number % 1000}`)
  const callbacks = Array.from(
    { length: Math.floor(items / batch) },
    (_, callback) => Array.from({ length: batch }, (_, index) => messageOf(first + callback * batch + index))
  )
  yield* SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)
  return yield* measureCostAndStatements(
    pid,
    callbacks.length * batch,
    Effect.forEach(callbacks, (events) => Effect.flatMap(callBack(server, events), requireSuccess), {
      concurrency,
      discard: true
    })
  )
})

const benchmark = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const { server } = cluster
  const { child } = yield* Processes.startMain(
    ["serve", "--no-worker", "--port", String(server.port)],
    cluster.environment
  )
  yield* Processes.untilUp(`${server.url}/health/ready`)
  const parts = {
    deliveries_1: deliveries(cluster, 1),
    deliveries_16: deliveries(cluster, 16),
    sends: sends(cluster),
    inbound_1: inbound(cluster, child.pid ?? 0, 1, 16),
    inbound_25: inbound(cluster, child.pid ?? 0, 25, 4)
  } satisfies Record<typeof names[number], unknown>
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 2 })
  return yield* Effect.gen(function*() {
    const results: Record<string, unknown> = { items }
    for (const name of chosen) results[name] = yield* parts[name]
    return results
  }).pipe(Effect.provide(database))
})

await Service.run(() => benchmark, { library: "pg_stat_statements", timeout: "10 minutes" })
