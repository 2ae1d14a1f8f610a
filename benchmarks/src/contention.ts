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
import { Clock, Effect, Redacted, Ref, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "../../packages/server/testing/Processes.ts"
import { type Arrival, delaysOf } from "./Arrivals.ts"
import * as Endpoint from "./Endpoint.ts"
import { summaryOf } from "./Percentiles.ts"
import * as ProcessorTime from "./ProcessorTime.ts"
import * as Service from "./Service.ts"
import * as Statements from "./Statements.ts"

const seconds = Number(process.argv[2] ?? 30)
const rounds = Number(process.argv[3] ?? 1000)
/** How many conversations are started and closed a second, evenly. By default each client begins the next one at once. */
const conversations_per_second = Number(process.argv[4] ?? Infinity)
const writers = 12

/** The fields that this benchmark reads from a resource. */
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

/** Returns a function that picks the servers in turn. */
const serversOf = ({ servers }: Service.Cluster) => {
  let turn = 0
  return (): Processes.Server => servers[turn++ % servers.length] ?? { port: 0, url: "" }
}

/** Counts the contacts that lack an acknowledged tag, edit or note afterwards. */
const lostUpdates = Effect.fnUntraced(function*(cluster: Service.Cluster) {
  const { key } = cluster.acme
  const next = serversOf(cluster)
  const request = (method: "GET" | "PATCH" | "POST", path: string, name: string, json?: unknown) =>
    Processes.request(next(), method, path, { key, ...(json === undefined ? {} : { json, idempotency_key: name }) })
  const tag = yield* Effect.flatMap(request("POST", "/tags", "tag-of-all", { name: "a", color: "red" }), shown)
  const lost = yield* Ref.make(0)
  const rejected = yield* Ref.make(0)
  const round = Effect.fnUntraced(function*(number: number) {
    const { id } = yield* Effect.flatMap(
      request("POST", "/contacts", `the-contact-${number}`, { first_name: "A" }),
      shown
    )
    const answers = yield* Effect.all([
      request("PATCH", `/contacts/${id}`, `the-tags-${number}`, { tag_ids: [tag.id] }),
      request("PATCH", `/contacts/${id}`, `the-edit-${number}`, { company: "Brick" }),
      request("POST", `/contacts/${id}/notes`, `the-note-${number}`, { text: "called" })
    ], { concurrency: "unbounded" })
    yield* Ref.update(rejected, (count) => count + answers.filter(({ status }) => status >= 400).length)
    const contact = yield* Effect.flatMap(request("GET", `/contacts/${id}`, ""), shown)
    const isWhole = contact.tags?.length === 1 && contact.company === "Brick" && contact.notes === "called"
    if (!isWhole) yield* Ref.update(lost, (count) => count + 1)
  })
  yield* Effect.forEach(Array.from({ length: rounds }, (_, number) => number), round, {
    concurrency: 8,
    discard: true
  })
  return { rounds, lost: yield* Ref.get(lost), rejected: yield* Ref.get(rejected) }
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

/** Lets twelve clients start and close conversations for the set time. Returns the number of answers by status. */
const busy = Effect.fnUntraced(function*(cluster: Service.Cluster) {
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

/** Returns the arrival of a post, whose name is its path and its event. */
const arrivalOf = ([name, at]: readonly [string, number]): Arrival => [name.slice(name.indexOf(" ") + 1), at]

/** Measures twelve writers together with their sends and webhooks. */
const contended = Effect.fnUntraced(function*(cluster: Service.Cluster) {
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const endpoint = yield* Endpoint.start
  const subscribe = (path: string, ...event_types: ReadonlyArray<string>) =>
    Processes.request(server, "POST", "/webhooks", {
      key: cluster.acme.key,
      json: { url: `${endpoint.url}/${path}`, event_types }
    })
  yield* subscribe("closed", "conversation.closed")
  yield* subscribe("messages", "message.sent", "message.updated")
  yield* subscribe("several", "conversation.closed", "message.sent", "send.failed")
  const before = yield* deadlocks
  yield* Statements.begin
  const times_before = yield* ProcessorTime.byName
  const statuses = yield* busy(cluster)
  const stopped = yield* Clock.currentTimeMillis
  const times = yield* ProcessorTime.byName
  const made = yield* count("SELECT count(*)::int AS count FROM webhook_deliveries")
  const statements = yield* Statements.most(made)
  const pending = yield* count("SELECT count(*)::int AS count FROM webhook_deliveries WHERE status = 'pending'")
  const left = count("SELECT count(*)::int AS count FROM work")
  yield* left.pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), times: 6000, until: (found) => found === 0 })
  )
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
    arrival: yield* delaysOf(arrivals.filter(([, at]) => at <= stopped)),
    arrival_after_ten_seconds: yield* delaysOf(
      arrivals.filter(([, at]) => at > stopped - (seconds - 10) * 1000 && at <= stopped)
    ),
    arrival_of_all: yield* delaysOf(arrivals),
    connections,
    processor_seconds: Object.fromEntries(
      Object.entries(times).map(([name, time]) => [name, Math.round((time - (times_before[name] ?? 0)) / 10_000) / 100])
    ),
    statements,
    deadlocks: (yield* deadlocks) - before,
    sends_not_settled: yield* count("SELECT count(*)::int AS count FROM sends WHERE status NOT IN ('sent', 'failed')")
  }
})

/** Measures reads while writers wait for a locked row. */
const reads = Effect.fnUntraced(function*(cluster: Service.Cluster) {
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
  const without_lock = summaryOf((yield* sample).flat())
  const [, , during_lock] = yield* Effect.all([
    Effect.replicateEffect(hold, 4, { discard: true }),
    Effect.forEach(Array.from({ length: 12 }, (_, n) => n), edit, { concurrency: "unbounded" }),
    sample
  ], { concurrency: "unbounded" })
  return { without_lock, during_lock: summaryOf(during_lock.flat()) }
})

const benchmark = Effect.gen(function*() {
  const cluster = yield* Service.cluster(2)
  for (const server of cluster.servers) yield* Processes.serveApi(cluster.environment, server)
  yield* Processes.startMain(["worker"], cluster.environment)
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 6 })
  return yield* Effect.gen(function*() {
    const lost_updates = yield* lostUpdates(cluster)
    const reads_of_another_row = yield* reads(cluster)
    const one_organization = yield* contended(cluster)
    return { seconds, writers, conversations_per_second, lost_updates, reads_of_another_row, one_organization }
  }).pipe(Effect.provide(database))
})

await Service.measure(() => benchmark, { library: "pg_stat_statements", timeout: "15 minutes" })
