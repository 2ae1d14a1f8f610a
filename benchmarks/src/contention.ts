/**
 * Measures what many writers of one organization cost each other, through HTTP
 * and several processes: `npm run bench:contention`, or with other seconds, `-- 60`.
 *
 * Tags, edits and notes of one contact at the same time: how many that were
 * answered are lost. Twelve clients that start and close conversations, with
 * three webhooks for different events: how soon events arrive, and whether any
 * write failed or met a deadlock. Reads of others while a row is held for a
 * second again and again: how long they take. Prints one JSON document.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { start as startPostgres } from "@messaging-crm/server/EmbeddedPostgres"
import { Clock, ConfigProvider, Effect, Redacted, Ref, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import * as Processes from "../../packages/server/testing/Processes.ts"
import * as Subscribers from "../../packages/server/testing/Subscribers.ts"

const seconds = Number(process.argv[2] ?? 30)
const rounds = Number(process.argv[3] ?? 1000)
const writers = 12

type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

/** What an answer shows of whatever it is about. */
const Shown = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({
    id: Schema.String,
    conversation_id: Schema.optionalKey(Schema.String),
    company: Schema.optionalKey(Schema.NullOr(Schema.String)),
    notes: Schema.optionalKey(Schema.NullOr(Schema.String)),
    tags: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.String })))
  })
}))

const shown = ({ text }: Processes.Answer) => Effect.map(Schema.decodeUnknownEffect(Shown)(text), ({ data }) => data)

const at = (sorted: ReadonlyArray<number>, share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN

const percentiles = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((a, b) => a - b)
  return { count: sorted.length, p50_ms: at(sorted, 0.5), p99_ms: at(sorted, 0.99), max_ms: sorted.at(-1) ?? NaN }
}

/** The servers that answer the API, each by its turn. */
const serversOf = ({ servers }: Cluster) => {
  let turn = 0
  return (): Processes.Server => servers[turn++ % servers.length] ?? { port: 0, url: "" }
}

/** Counts the answered tags, edits and notes that a contact does not show afterwards. */
const lostUpdates = Effect.fnUntraced(function*(cluster: Cluster) {
  const { key } = cluster.acme
  const next = serversOf(cluster)
  const ask = (method: "GET" | "PATCH" | "POST", path: string, name: string, json?: unknown) =>
    Processes.request(next(), method, path, { key, ...(json === undefined ? {} : { json, idempotency_key: name }) })
  const tag = yield* Effect.flatMap(ask("POST", "/tags", "tag-of-all", { name: "a", color: "red" }), shown)
  const lost = yield* Ref.make(0)
  const refused = yield* Ref.make(0)
  const round = Effect.fnUntraced(function*(number: number) {
    const { id } = yield* Effect.flatMap(ask("POST", "/contacts", `the-contact-${number}`, { first_name: "A" }), shown)
    const answers = yield* Effect.all([
      ask("PATCH", `/contacts/${id}`, `the-tags-${number}`, { tag_ids: [tag.id] }),
      ask("PATCH", `/contacts/${id}`, `the-edit-${number}`, { company: "Brick" }),
      ask("POST", `/contacts/${id}/notes`, `the-note-${number}`, { text: "called" })
    ], { concurrency: "unbounded" })
    yield* Ref.update(refused, (count) => count + answers.filter(({ status }) => status >= 400).length)
    const contact = yield* Effect.flatMap(ask("GET", `/contacts/${id}`, ""), shown)
    const isWhole = contact.tags?.length === 1 && contact.company === "Brick" && contact.notes === "called"
    if (!isWhole) yield* Ref.update(lost, (count) => count + 1)
  })
  yield* Effect.forEach(Array.from({ length: rounds }, (_, number) => number), round, {
    concurrency: 8,
    discard: true
  })
  return { rounds, lost: yield* Ref.get(lost), refused: yield* Ref.get(refused) }
})

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

/** Twelve clients start conversations and close them, for a while. */
const busy = Effect.fnUntraced(function*(cluster: Cluster) {
  const { channel_id, key } = cluster.acme
  const next = serversOf(cluster)
  const statuses = yield* Ref.make<Readonly<Record<string, number>>>({})
  const until = (yield* Clock.currentTimeMillis) + seconds * 1000
  const write = (path: string, name: string, json: unknown) =>
    Processes.request(next(), "POST", path, { key, json, idempotency_key: name }).pipe(
      Effect.tap(({ status }) => Ref.update(statuses, (all) => ({ ...all, [status]: (all[status] ?? 0) + 1 })))
    )
  const writer = Effect.fnUntraced(function*(name: number) {
    for (let number = 0; (yield* Clock.currentTimeMillis) < until; number++) {
      const phone = `+4915${String(name * 1_000_000 + number % 500 * 10 + 100).padStart(9, "0")}`
      const started = yield* write(
        "/conversations",
        `start-${name}-${number}`,
        Processes.greeting(channel_id, phone, `n${number}`)
      )
      const { conversation_id } = yield* shown(started)
      yield* write(`/conversations/${conversation_id}/close`, `close-${name}-${number}`, { category: "resolved" })
    }
  })
  yield* Effect.forEach(Array.from({ length: writers }, (_, name) => name), writer, {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Ref.get(statuses)
})

/** How many milliseconds after an event was made it arrived for the first time. */
const delays = Effect.fnUntraced(function*(heard: ReadonlyArray<Subscribers.Heard>) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: string; readonly made_at: number }>`
    SELECT id, (extract(epoch FROM created_at) * 1000)::float8 AS made_at
    FROM webhook_events
  `
  const made = new Map(rows.map(({ id, made_at }) => [id, made_at]))
  const first = new Map(heard.toReversed().map(({ at, event_id }) => [event_id, at]))
  return percentiles(Array.from(first, ([id, arrived]) => arrived - (made.get(id) ?? NaN)))
})

/** What twelve writers, their sends and their webhooks do to each other. */
const contended = Effect.fnUntraced(function*(cluster: Cluster) {
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const subscribe = (...event_types: ReadonlyArray<string>) =>
    Subscribers.subscriber(server, cluster.acme.key, { event_types, manner: Subscribers.prompt })
  const subscribers = [
    yield* subscribe("conversation.closed"),
    yield* subscribe("message.sent", "message.updated"),
    yield* subscribe("conversation.closed", "message.sent", "send.failed")
  ]
  const before = yield* deadlocks
  const statuses = yield* busy(cluster)
  const stopped = yield* Clock.currentTimeMillis
  const pending = yield* count("SELECT count(*)::int AS count FROM webhook_deliveries WHERE status = 'pending'")
  const left = count("SELECT count(*)::int AS count FROM work")
  yield* left.pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), times: 6000, until: (found) => found === 0 })
  )
  return {
    statuses,
    deliveries: yield* count("SELECT count(*)::int AS count FROM webhook_deliveries"),
    pending_when_writers_stopped: pending,
    all_done_after_ms: (yield* Clock.currentTimeMillis) - stopped,
    arrival: yield* Effect.forEach(subscribers, ({ heard }) => delays(heard)),
    deadlocks: (yield* deadlocks) - before,
    sends_not_settled: yield* count("SELECT count(*)::int AS count FROM sends WHERE status NOT IN ('sent', 'failed')")
  }
})

/** How long reads take while others wait for a row that somebody holds. */
const reads = Effect.fnUntraced(function*(cluster: Cluster) {
  const { key } = cluster.acme
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const create = (name: string) =>
    Effect.flatMap(
      Processes.request(server, "POST", "/contacts", {
        key,
        json: { first_name: name },
        idempotency_key: `held-${name}`
      }),
      shown
    )
  const [held, other] = [yield* create("held"), yield* create("other")]
  const sql = yield* SqlClient.SqlClient
  const hold = sql.withTransaction(
    Effect.andThen(sql`SELECT id FROM contacts WHERE id = ${held.id} FOR UPDATE`, Effect.sleep("1 second"))
  )
  const read = Effect.gen(function*() {
    const begun = yield* Clock.currentTimeMillis
    yield* Processes.request(server, "GET", `/contacts/${other.id}`, { key })
    return (yield* Clock.currentTimeMillis) - begun
  })
  const edit = (number: number) =>
    Processes.request(server, "PATCH", `/contacts/${held.id}`, {
      key,
      json: { city: `${number}` },
      idempotency_key: `held-edit-${number}`
    })
  const sample = Effect.forEach(Array.from({ length: 8 }, (_, n) => n), () => Effect.replicateEffect(read, 150), {
    concurrency: "unbounded"
  })
  const alone = percentiles((yield* sample).flat())
  const [, , beside] = yield* Effect.all([
    Effect.replicateEffect(hold, 4, { discard: true }),
    Effect.forEach(Array.from({ length: 12 }, (_, n) => n), edit, { concurrency: "unbounded" }),
    sample
  ], { concurrency: "unbounded" })
  return { alone, beside: percentiles(beside.flat()) }
})

const benchmark = Effect.gen(function*() {
  const cluster = yield* Processes.cluster({
    servers: 2,
    environment: {
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
      LOG_FORMAT: "json",
      RATE_LIMIT_PER_MINUTE: "1000000",
      REQUESTS_AT_ONCE: "1000"
    }
  })
  for (const { port, url } of cluster.servers) {
    yield* Processes.start(
      Processes.main,
      ["serve", "--no-worker", "--port", String(port)],
      cluster.environment
    )
    yield* Processes.untilUp(`${url}/health/ready`)
  }
  yield* Processes.start(Processes.main, ["worker"], cluster.environment)
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 6 })
  return yield* Effect.gen(function*() {
    const lost_updates = yield* lostUpdates(cluster)
    const reads_beside_a_held_row = yield* reads(cluster)
    const one_organization = yield* contended(cluster)
    return { lost_updates, reads_beside_a_held_row, one_organization }
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
  return { machine, seconds, writers, ...results }
}).pipe(Effect.scoped, Effect.timeout("15 minutes"))

console.log(JSON.stringify(await Effect.runPromise(program), null, 2))
process.exit(0)
