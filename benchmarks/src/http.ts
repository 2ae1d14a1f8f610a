/**
 * Measures a real server with a real database of 100,000 contacts: latency,
 * throughput and the number of SQL statements for each operation. `npm run bench`,
 * or with another number of seconds for each measurement, `npm run bench -- 3`.
 *
 * Load, server and database share the machine, so compare the rows of one run
 * with each other. Prints one JSON document.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Scope } from "@messaging-crm/core/ApiKeys"
import autocannon, { type Request } from "autocannon"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Crowd from "../../packages/adapter-postgres/testing/Crowd.ts"
import * as Processes from "../../packages/server/testing/Processes.ts"
import * as Service from "./Service.ts"

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

/** The requests by name. Each call makes one for another row. */
const operations: Readonly<Record<string, () => Request>> = {
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

/** Sends requests for some seconds over some connections. Each connection waits for a response before its next request. */
const load = (url: string, key: string, nextRequest: () => Request, connections: number, duration: number) =>
  Effect.promise(async () => {
    const times: Array<number> = []
    const run = autocannon({
      url,
      connections,
      duration,
      // The server closes a connection after 1,000 requests, which autocannon counts as an error.
      reconnectRate: 900,
      requests: [{ setupRequest: (request) => ({ ...request, ...authorized(nextRequest(), key) }) }]
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

/** Returns the number of statements for one request. `pg_stat_statements` does not count BEGIN and COMMIT. */
const statements = Effect.fnUntraced(function*(server: Processes.Server, key: string, nextRequest: () => Request) {
  const sql = yield* SqlClient.SqlClient
  const request = Effect.promise(async () => {
    const { body = null, headers = {}, method = "GET", path = "/" } = authorized(nextRequest(), key)
    const response = await fetch(`${server.url}${path}`, { method, headers, body })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
  })
  yield* Effect.replicateEffect(request, 5)
  yield* sql`SELECT pg_stat_statements_reset()`
  yield* Effect.replicateEffect(request, counted_requests)
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

/** Fills the database and makes an API key. Removes the queued work of the test data, which workers would carry out. */
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

const forEachOperation = <A, E, R>(measure: (nextRequest: () => Request) => Effect.Effect<A, E, R>) =>
  Effect.all(Object.fromEntries(Object.entries(operations).map(([name, nextRequest]) => [name, measure(nextRequest)])))

const server = Effect.map(Processes.freePort, (port): Processes.Server => ({ port, url: `http://127.0.0.1:${port}` }))

const benchmark = Effect.fnUntraced(function*(database_url: string) {
  const { environment, key } = yield* prepare(database_url)
  // Without workers, so that only the statements of requests are counted.
  const counted = yield* Effect.scoped(Effect.gen(function*() {
    const quiet = yield* server
    yield* Processes.serveApi(environment, quiet)
    return yield* forEachOperation((nextRequest) => statements(quiet, key, nextRequest))
  }))
  const busy = yield* server
  yield* Processes.serve(environment, busy)
  const measured = yield* forEachOperation((nextRequest) =>
    Effect.gen(function*() {
      yield* load(busy.url, key, nextRequest, 8, Math.min(seconds, 3))
      return {
        "1 connection": yield* load(busy.url, key, nextRequest, 1, seconds),
        "16 connections": yield* load(busy.url, key, nextRequest, 16, seconds)
      }
    })
  )
  return Object.fromEntries(
    Object.entries(measured).map(([name, numbers]) => [name, { statements: counted[name], ...numbers }])
  )
}, Effect.scoped)

const connected = (database_url: string) =>
  Effect.map(
    Effect.provide(benchmark(database_url), Client.layer({ url: Redacted.make(database_url) })),
    (results) => ({ contacts: Crowd.contact_count, seconds, results })
  )

await Service.measure(connected, { library: "pg_stat_statements" })
