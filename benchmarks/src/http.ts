/**
 * Asks a real server with a real database of 100,000 contacts, and prints how
 * fast it answers and how many statements an answer takes: `npm run bench`, or
 * with another number of seconds for each measurement, `npm run bench -- 3`.
 *
 * Load, server and database share the machine, so compare the rows of one run
 * with each other. Prints one JSON document.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Scope } from "@messaging-crm/core/ApiKeys"
import { start as startPostgres } from "@messaging-crm/server/EmbeddedPostgres"
import autocannon, { type Request } from "autocannon"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import * as Crowd from "../../packages/adapter-postgres/testing/Crowd.ts"
import * as Processes from "../../packages/server/testing/Processes.ts"

const seconds = Number(process.argv[2] ?? 10)
const counted_requests = 50

const pick = <A>(values: ReadonlyArray<A>): A => values[Math.floor(Math.random() * values.length)] as A // in range

/** A contact of the large organization. */
const contact = (): string => {
  const number = 1 + Math.floor(Math.random() * Crowd.contact_count)
  return number % 100 < 90 ? Crowd.id("contact", number) : contact()
}

const write = (body: unknown): Request => ({
  method: "POST",
  headers: { "content-type": "application/json", "idempotency-key": globalThis.crypto.randomUUID() },
  body: JSON.stringify(body)
})

const number = (): string => `+4917${String(Math.floor(Math.random() * 1e9)).padStart(9, "0")}`

/** What is asked, each time about another row. */
const questions: Readonly<Record<string, () => Request>> = {
  "get a contact": () => ({ path: `/v1/contacts/${contact()}` }),
  "list contacts": () => ({ path: "/v1/contacts" }),
  "list contacts, with a query that many match": () => ({
    path: `/v1/contacts?query=${pick(["anna", "berg", "gmbh"])}`
  }),
  "list contacts, with a query that few match": () => ({
    path: `/v1/contacts?query=${pick(["zanzibar", "qx", "berba", "1511"])}`
  }),
  "list conversations": () => ({ path: "/v1/conversations?status=open" }),
  "create a contact": () => ({
    ...write({ first_name: "Kim", last_name: "Benchmark", primary_phone: number() }),
    path: "/v1/contacts"
  }),
  "start a conversation": () => ({
    ...write({
      channel_id: Crowd.id("channel", 3),
      phone: number(),
      template: {
        id: "account.order_ready",
        components: [
          { type: "header", parameters: [{ type: "text", text: "1" }] },
          { type: "body", parameters: [{ type: "text", text: "Kim" }, { type: "text", text: "1" }] },
          { type: "button", sub_type: "url", index: 0, parameters: [{ type: "text", text: "1" }] }
        ]
      }
    }),
    path: "/v1/conversations"
  })
}

const authorized = (request: Request, key: string): Request => ({
  ...request,
  headers: { ...request.headers, authorization: `Bearer ${key}` }
})

/** Asks for some seconds over some connections, each of which waits for its answer before it asks again. */
const load = (url: string, key: string, question: () => Request, connections: number, duration: number) =>
  Effect.promise(async () => {
    const times: Array<number> = []
    const run = autocannon({
      url,
      connections,
      duration,
      // The server ends a connection after 1,000 requests and says so, which autocannon does not hear.
      reconnectRate: 900,
      requests: [{ setupRequest: (request) => ({ ...request, ...authorized(question(), key) }) }]
    })
    run.on("response", (_client, _status, _bytes, milliseconds) => times.push(milliseconds))
    const { duration: lasted, errors, non2xx, timeouts } = await run
    times.sort((a, b) => a - b)
    const at = (share: number): number => Math.round((times[Math.floor(times.length * share)] ?? NaN) * 100) / 100
    return {
      requests_per_second: Math.round(times.length / lasted),
      p50_ms: at(0.5),
      p99_ms: at(0.99),
      failed: errors + non2xx + timeouts
    }
  })

/** The statements that one answer takes. Those that begin and end transactions are not counted: PostgreSQL does not count them. */
const statements = Effect.fnUntraced(function*(server: Processes.Server, key: string, question: () => Request) {
  const sql = yield* SqlClient.SqlClient
  const ask = Effect.promise(async () => {
    const { body = null, headers = {}, method = "GET", path = "/" } = authorized(question(), key)
    const response = await fetch(`${server.url}${path}`, { method, headers, body })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
  })
  yield* Effect.replicateEffect(ask, 5)
  yield* sql`SELECT pg_stat_statements_reset()`
  yield* Effect.replicateEffect(ask, counted_requests)
  const [row] = yield* sql<{ readonly calls: number }>`
    SELECT sum(calls)::integer AS calls
    FROM pg_stat_statements
    WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'
      -- Checks of foreign keys are the database's own.
      AND query NOT LIKE 'SELECT 1 FROM ONLY %'
  `
  return Math.round((row?.calls ?? 0) / counted_requests * 10) / 10
})

const Key = Schema.Struct({ key: Schema.String })

/** A server over the crowd, with a key. What the crowd has queued is left out: the workers would carry it out. */
const prepare = Effect.fnUntraced(function*(database_url: string) {
  const sql = yield* SqlClient.SqlClient
  const environment: Processes.Environment = {
    DATABASE_URL: database_url,
    DATABASE_POOL: "10",
    HOST: "127.0.0.1",
    LOG_LEVEL: "error",
    PROVIDER: "mock",
    RATE_LIMIT_PER_MINUTE: "1000000",
    REQUESTS_AT_ONCE: "1000",
    SECRET_KEY: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64")
  }
  yield* Processes.command(["migrate"], environment)
  yield* Crowd.fill
  yield* sql`TRUNCATE work, work_lanes`
  yield* sql`UPDATE webhooks SET status = 'disabled', disabled_at = now()`
  yield* sql`CREATE EXTENSION pg_stat_statements`
  const args = ["keys", "create", "--organization", Crowd.large, "--member", Crowd.id("member", 0), "--name", "bench"]
  const scopes = Scope.literals.flatMap((scope) => ["--scope", scope])
  const made = yield* Processes.command([...args, "--expires", "90d", ...scopes], environment)
  const { key } = yield* Schema.decodeUnknownEffect(Key)(made)
  return { environment, key }
})

const forEachQuestion = <A, E, R>(measure: (question: () => Request) => Effect.Effect<A, E, R>) =>
  Effect.all(Object.fromEntries(Object.entries(questions).map(([name, question]) => [name, measure(question)])))

const server = Effect.map(Processes.freePort, (port): Processes.Server => ({ port, url: `http://127.0.0.1:${port}` }))

const benchmark = Effect.fnUntraced(function*(database_url: string) {
  const { environment, key } = yield* prepare(database_url)
  // Without workers, so that every statement is of a request.
  const counted = yield* Effect.scoped(Effect.gen(function*() {
    const quiet = yield* server
    yield* Processes.start(Processes.main, ["serve", "--no-worker", "--port", String(quiet.port)], environment)
    yield* Processes.untilUp(`${quiet.url}/health/ready`)
    return yield* forEachQuestion((question) => statements(quiet, key, question))
  }))
  const busy = yield* server
  yield* Processes.serve(environment, busy)
  const measured = yield* forEachQuestion((question) =>
    Effect.gen(function*() {
      yield* load(busy.url, key, question, 8, Math.min(seconds, 3))
      return {
        "1 connection": yield* load(busy.url, key, question, 1, seconds),
        "16 connections": yield* load(busy.url, key, question, 16, seconds)
      }
    })
  )
  return Object.fromEntries(
    Object.entries(measured).map(([name, numbers]) => [name, { statements: counted[name], ...numbers }])
  )
}, Effect.scoped)

const program = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-bench-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const statistics = SqlClient.SqlClient.use((sql) =>
    sql.unsafe(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`)
  )
  const connectedTo = (url: string) => Effect.provide(Client.layer({ url: Redacted.make(url) }))
  // Counting is a library that PostgreSQL loads at its next start.
  yield* Effect.scoped(Effect.flatMap(startPostgres({ directory }), (url) => connectedTo(url)(statistics)))
  const before = loadavg()
  const url = yield* startPostgres({ directory })
  const results = yield* connectedTo(url)(benchmark(url))
  const machine = { processors: cpus().length, model: cpus()[0]?.model, node: process.version, load_before: before[0] }
  return { machine, contacts: Crowd.contact_count, seconds, results }
}).pipe(Effect.scoped)

console.log(JSON.stringify(await Effect.runPromise(program), null, 2))
process.exit(0)
