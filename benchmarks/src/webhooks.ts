/**
 * Measures how soon after its commit an event arrives, alone and beside two
 * subscribers that misbehave: `npm run bench:webhooks`.
 *
 * One process answers the API and delivers, on a real database. First, how many
 * deliveries a second leave when 4,000 are due. Then a healthy subscriber is
 * told of 20 messages a second, alone and beside two others that subscribe to
 * the same: one that never answers and one that answers without end, each with
 * 10,000 deliveries that are due besides. Prints one JSON document. Reads
 * `/proc`, so Linux only.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { start as startPostgres } from "@messaging-crm/server/EmbeddedPostgres"
import { Clock, ConfigProvider, DateTime, Effect, Redacted, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import * as Processes from "../../packages/server/testing/Processes.ts"
import * as Subscribers from "../../packages/server/testing/Subscribers.ts"

const seconds = Number(process.argv[2] ?? 30)
const events_per_second = 20
const queued_each = 10_000

type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

/** A service that runs: its processes, its server, and how it is told of messages. */
interface Service extends Cluster {
  readonly server: Processes.Server
  readonly pid: number
  readonly tell: (event: ProviderEvent) => Effect.Effect<void>
}

const written = (channel_id: string, number: number): ProviderEvent => ({
  event: "message_received",
  channel_id: ChannelId.make(channel_id),
  provider_message_id: `bench-${number}`,
  from: { external_id: `+49151${5_000_000 + number % 500}`, display_name: "Kim", username: null },
  type: "text",
  text: "How are you?",
  media: null,
  sent_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z")
})

/** What a process holds in memory, in MiB. */
const memory = (pid: number) =>
  Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8")).pipe(
    Effect.map((status) => Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024))
  )

/** Runs something and returns the most memory that a process held meanwhile. */
const memoryDuring = Effect.fnUntraced(function*<A, E, R>(pid: number, effect: Effect.Effect<A, E, R>) {
  const peak = yield* Ref.make(0)
  yield* memory(pid).pipe(
    Effect.flatMap((now) => Ref.update(peak, (most) => Math.max(most, now))),
    Effect.repeat(Schedule.spaced("50 millis")),
    Effect.forkScoped
  )
  return { result: yield* effect, memory_peak_mib: yield* Ref.get(peak) }
}, Effect.scoped)

/** Tells the service of so many messages, one after the other at an even pace, numbered from `first` on. */
const talk = ({ acme, tell }: Service, first: number) =>
  Effect.forEach(
    Array.from({ length: seconds * events_per_second }, (_, index) => index),
    (index) =>
      tell(written(acme.channel_id, first + index)).pipe(
        Effect.delay(index * 1000 / events_per_second)
      ),
    { concurrency: "unbounded", discard: true }
  )

/** Waits until a subscriber was told of so many events, for two minutes at most. */
const untilHeard = ({ heard }: Subscribers.Subscriber, count: number) =>
  Effect.sync(() => heard.length).pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), times: 6000, until: (length) => length >= count })
  )

const at = (sorted: ReadonlyArray<number>, share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN

/** How many milliseconds after the event was made, which is before its commit, it arrived for the first time. */
const delays = Effect.fnUntraced(function*(heard: ReadonlyArray<Subscribers.Heard>) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: string; readonly made_at: number }>`
    SELECT id, (extract(epoch FROM created_at) * 1000)::float8 AS made_at
    FROM webhook_events
  `
  const made = new Map(rows.map(({ id, made_at }) => [id, made_at]))
  const first = new Map(heard.toReversed().map(({ at, event_id }) => [event_id, at]))
  const sorted = Array.from(first, ([id, arrived]) => arrived - (made.get(id) ?? NaN)).toSorted((a, b) => a - b)
  return { arrived: sorted.length, p50_ms: at(sorted, 0.5), p99_ms: at(sorted, 0.99), max_ms: at(sorted, 0.9999) }
})

/** Tells of messages for a while, and returns how soon a subscriber heard of them. */
const measured = Effect.fnUntraced(function*(service: Service, healthy: Subscribers.Subscriber, first: number) {
  const before = healthy.heard.length
  const { memory_peak_mib } = yield* memoryDuring(
    service.pid,
    Effect.andThen(talk(service, first), untilHeard(healthy, before + seconds * events_per_second))
  )
  return { ...yield* delays(healthy.heard.slice(before)), memory_peak_mib }
})

/** Puts deliveries that are due into the queue of each webhook. */
const queue = Effect.fnUntraced(function*(organization_id: string, webhooks: ReadonlyArray<string>, count: number) {
  const sql = yield* SqlClient.SqlClient
  const now = new Date(yield* Clock.currentTimeMillis)
  for (const webhook_id of webhooks) {
    const lane = `webhook_delivery:${webhook_id}`
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`
        WITH event AS (
          INSERT INTO webhook_events (organization_id, id, type, body, created_at)
          SELECT ${organization_id}, gen_random_uuid(), 'message.received', '{"padding":"' || repeat('x', 200) || '"}', ${now}
          FROM generate_series(1, ${count}::integer)
          RETURNING id
        )
        INSERT INTO webhook_deliveries (
          organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
        )
        SELECT ${organization_id}, gen_random_uuid(), ${webhook_id}, id, 'message.received', 'pending', 0, ${now}, ${now}
        FROM event
      `
      yield* sql`
        INSERT INTO work (organization_id, kind, lane, lane_name, ref, due_at)
        SELECT organization_id, 'webhook_delivery', webhook_id, ${lane}, id, ${now}
        FROM webhook_deliveries
        WHERE webhook_id = ${webhook_id} AND status = 'pending'
        ON CONFLICT DO NOTHING
      `
      yield* sql`
        INSERT INTO work_lanes (name, cap, allowed, fifo, next_due)
        VALUES (${lane}, 8, 8, false, ${now})
        ON CONFLICT (name) DO UPDATE SET next_due = excluded.next_due, closed = false, emptied_at = NULL
      `
    }))
  }
})

const subscribe = ({ acme, server }: Service, manner: Subscribers.Manner) =>
  Subscribers.subscriber(server, acme.key, { event_types: ["message.received"], manner })

/** Leaves nobody subscribed and nothing queued but what is out. */
const clear = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  yield* sql`SELECT name FROM work_lanes ORDER BY name FOR UPDATE`
  yield* sql`DELETE FROM work WHERE leased_until IS NULL`
})

/** How many deliveries a second leave when they are due to so many webhooks, and what the process holds meanwhile. */
const throughput = Effect.fnUntraced(function*(service: Service, webhooks: number) {
  const subscribers = yield* Effect.replicateEffect(subscribe(service, Subscribers.prompt), webhooks)
  const count = 4000 / webhooks
  const begun = yield* Clock.currentTimeMillis
  const { memory_peak_mib } = yield* memoryDuring(
    service.pid,
    queue(service.acme.organization_id, subscribers.map(({ webhook_id }) => webhook_id), count).pipe(
      Effect.andThen(
        Effect.forEach(subscribers, (subscriber) => untilHeard(subscriber, count), { concurrency: "unbounded" })
      )
    )
  )
  const lasted = (yield* Clock.currentTimeMillis) - begun
  yield* SqlClient.SqlClient.use((sql) => sql.withTransaction(clear))
  return { deliveries_per_second: Math.round(count * webhooks * 1000 / lasted), memory_peak_mib }
})

const started = Effect.gen(function*() {
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
  const { child } = yield* Processes.serve(cluster.environment, server)
  const callBack = yield* Processes.calledBack(cluster.environment)
  const tell = (event: ProviderEvent) =>
    Effect.flatMap(
      callBack(server, [event]),
      (status) => status === 200 ? Effect.void : Effect.die(new Error(`A callback was answered with ${status}`))
    )
  return { ...cluster, server, pid: child.pid ?? 0, tell } satisfies Service
})

const benchmark = Effect.gen(function*() {
  const service = yield* started
  const database = Client.layer({ url: Redacted.make(service.database_url), connections: 2 })
  const resting = Effect.andThen(Effect.sleep("5 seconds"), memory(service.pid))
  return yield* Effect.gen(function*() {
    const fresh_mib = yield* resting
    const one_webhook = yield* throughput(service, 1)
    const eight_webhooks = yield* throughput(service, 8)
    const rested_mib = yield* resting
    const healthy = yield* subscribe(service, Subscribers.prompt)
    const alone = yield* measured(service, healthy, 0)
    const bad = [yield* subscribe(service, Subscribers.silent), yield* subscribe(service, Subscribers.endless)]
    yield* queue(service.acme.organization_id, bad.map(({ webhook_id }) => webhook_id), queued_each)
    const beside = yield* measured(service, healthy, 1_000_000)
    const posted_to_bad = bad.map(({ heard }) => heard.length)
    const memory = { fresh_mib, rested_mib }
    return { memory, one_webhook, eight_webhooks, alone, beside: { ...beside, posted_to_bad } }
  }).pipe(Effect.provide(database))
}).pipe(Effect.scoped)

const program = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-bench-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const [load_before] = loadavg()
  const url = yield* startPostgres({ directory })
  const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url }))
  const results = yield* Effect.provide(benchmark, environment)
  const machine = { processors: cpus().length, model: cpus()[0]?.model, node: process.version, load_before }
  return { machine, seconds, events_per_second, queued: 2 * queued_each, ...results }
}).pipe(Effect.scoped, Effect.timeout("10 minutes"))

console.log(JSON.stringify(await Effect.runPromise(program), null, 2))
process.exit(0)
