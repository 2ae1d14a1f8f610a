import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import { type PoolUsage, poolUsages } from "@messaging-crm/adapter-postgres/PoolUsage"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import * as Writable from "@messaging-crm/adapter-postgres/Writable"
import { CurrentTurn } from "@messaging-crm/core/Turns"
import { Effect, Exit, Fiber, Latch, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Database from "../testing/Database.ts"
import * as Backends from "./Backends.ts"

/** The required settings of a session, as PostgreSQL shows them. */
const promised: Readonly<Record<string, string>> = {
  application_name: "messaging-crm",
  array_nulls: "on",
  bytea_output: "hex",
  client_connection_check_interval: "5s",
  DateStyle: "ISO, MDY",
  default_transaction_isolation: "read committed",
  enable_seqscan: "off",
  enable_sort: "off",
  gin_fuzzy_search_limit: "0",
  idle_in_transaction_session_timeout: "5s",
  IntervalStyle: "postgres",
  jit: "off",
  lock_timeout: "0",
  max_parallel_workers_per_gather: "0",
  plan_cache_mode: "force_generic_plan",
  standard_conforming_strings: "on",
  statement_timeout: "5s",
  synchronous_commit: "on",
  tcp_keepalives_count: "2",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "5",
  TimeZone: "UTC",
  transaction_timeout: "10s",
  transform_null_equals: "off"
}

const settings = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly name: string; readonly setting: string }>`
      SELECT name, current_setting(name) AS setting
      FROM pg_settings
      WHERE name = ANY(${Object.keys(promised)}::text[])
    `,
    (rows) => Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  )

const rename = (sql: SqlClient.SqlClient, id: string) =>
  sql`
    UPDATE organizations
    SET name = 'wanted'
    WHERE id = ${id}
  `

/** Locks a row until it is released. */
const lockedRow = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const id = globalThis.crypto.randomUUID()
  yield* sql`
    INSERT INTO organizations (id, name, created_at)
    VALUES (${id}, 'free', now())
  `
  const [locked, freed] = [yield* Latch.make(), yield* Latch.make()]
  const holder = sql.withTransaction(Effect.andThen(rename(sql, id), Effect.andThen(locked.open, freed.await)))
  const holding = yield* Effect.forkChild(holder)
  yield* locked.await
  return { id, free: Effect.andThen(freed.open, Fiber.join(holding)) }
})

/** Waits until some of the given backends wait for a lock. */
const lockWaits = (pids: ReadonlyArray<number>, count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.repeat(
      sql`
        SELECT
        FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND pid = ANY(${pids}::integer[])
      `,
      { until: (rows) => rows.length === count }
    ))

/** A client of which all statements go over one connection. */
const single = Layer.unwrap(
  Effect.map(Database.Database, ({ url }) => Layer.fresh(Client.layer({ url, connections: 2 })))
)

/** Frees what nothing refers to, after what the current turn of the event loop still holds. */
const collectGarbage = Effect.promise(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
})

it.layer(Database.layer)("Client", (it) => {
  it.effect("does not keep the text of a complete statement, nor its parameters", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const parameters = ["x"]
      const statement = sql.unsafe("SELECT $1::text AS text", parameters)
      assert.deepStrictEqual(statement.compile(), ["SELECT $1::text AS text", parameters])
      assert.notStrictEqual(statement.compile(), statement.compile())
      assert.deepStrictEqual(yield* statement, [{ text: "x" }])
    }))

  it.effect("keeps no row of a completed statement while its connection waits for the next one", () =>
    Effect.gen(function*() {
      const lock = Math.trunc(Math.random() * 1e9)
      const sql = yield* SqlClient.SqlClient
      const [locked, freed] = [yield* Latch.make(), yield* Latch.make()]
      const hold = Effect.andThen(sql`SELECT pg_advisory_xact_lock(${lock})`, Effect.andThen(locked.open, freed.await))
      const holding = yield* Effect.forkChild(sql.withTransaction(hold))
      yield* locked.await
      yield* Effect.gen(function*() {
        const one = yield* SqlClient.SqlClient
        const found = one`SELECT repeat('x', 1000) AS text`
        // The first of both rows, as an object and as its values.
        const first = <Row extends object>(rows: ReadonlyArray<Row>) => new WeakRef(rows[0] ?? {})
        const received = Effect.all([Effect.map(found, first), Effect.map(found.values, first)], {
          concurrency: "unbounded"
        })
        const reading = yield* Effect.forkChild(received)
        yield* Effect.yieldNow
        const waiting = yield* Effect.forkChild(one`SELECT pg_advisory_xact_lock(${lock})`)
        const rows = yield* Fiber.join(reading)
        yield* collectGarbage
        assert.isUndefined(waiting.pollUnsafe())
        assert.deepStrictEqual(rows.map((row) => row.deref()), [undefined, undefined])
        yield* freed.open
        yield* Fiber.join(waiting)
      }).pipe(Effect.provide(single))
      yield* Fiber.join(holding)
    }))

  it.effect("gives every session its own settings, whatever the defaults of the server", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* settings(sql), promised)
      assert.deepStrictEqual(yield* settings(yield* CommitConnections), { ...promised, lock_timeout: "2s" })
      const { sql: searching } = yield* SearchConnections
      assert.deepStrictEqual(yield* settings(searching), { ...promised, statement_timeout: "1s" })
    }))

  it.effect("keeps the settings of a session after a check whether it can write", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* Writable.required(sql)
      assert.deepStrictEqual(yield* settings(sql), promised)
    }).pipe(Effect.provide(single)))

  it.effect("waits for no standby in a check whether it can write", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const during = sql.withTransaction(Effect.andThen(Writable.required(sql), settings(sql)))
      assert.deepStrictEqual(yield* during, { ...promised, synchronous_commit: "local" })
    }).pipe(Effect.provide(single)))

  it.effect("fails the statements of a killed backend, and no later ones", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const victim = yield* Effect.forkChild(
        Effect.exit(sql.withTransaction(sql`SELECT pg_sleep(4) AS "the victim"`))
      )
      const kill = sql`
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE query LIKE '%"the victim"%' AND pid <> pg_backend_pid()
      `
      yield* Effect.repeat(kill, { until: (killed) => killed.length > 0 })
      assert.isTrue(Exit.isFailure(yield* Fiber.join(victim)))

      // Statements of several fibers share a connection, so they fail together.
      const suicide = Effect.exit(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
      const ended = yield* Effect.all(Array.from({ length: 40 }, () => suicide), { concurrency: "unbounded" })
      assert.isTrue(ended.every(Exit.isFailure))

      const question = sql<{ readonly response: number }>`SELECT 42 AS response`
      const responses = yield* Effect.all(Array.from({ length: 40 }, () => question), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(responses.map(([row]) => row?.response)), new Set([42]))
    }))

  it.effect("opens the configured number of connections, half of them for commits and a quarter for searches", () =>
    Effect.gen(function*() {
      const shared = yield* Backends.pids(yield* SqlClient.SqlClient, 3)
      const committing = yield* Backends.pids(yield* CommitConnections, 5)
      const searching = yield* Backends.pids((yield* SearchConnections).sql, 2)
      assert.strictEqual(new Set([...shared, ...committing, ...searching]).size, 10)
    }))

  it.effect("serves reads while every connection for commits waits for a row", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const commits = yield* CommitConnections
      const pids = yield* Backends.pids(commits, 5)
      const { free, id } = yield* lockedRow
      const renames = Effect.all(Array.from({ length: 5 }, () => rename(commits, id)), { concurrency: "unbounded" })
      const waiting = yield* Effect.forkChild(renames)
      yield* lockWaits(pids, 5)
      yield* Effect.all(Array.from({ length: 200 }, () => sql`SELECT 1`), { concurrency: "unbounded" })
      yield* free
      yield* Fiber.join(waiting)
    }))

  it.effect("runs statements of organizations in turns, however many one of them has", () =>
    Effect.gen(function*() {
      const commits = yield* CommitConnections
      const pids = yield* Backends.pids(commits, 5)
      const { free, id } = yield* lockedRow
      const done: Array<string> = []
      const statementsOf = (
        organization: string,
        count: number,
        statement: Effect.Effect<unknown, SqlError.SqlError>
      ) =>
        Effect.all(
          Array.from({ length: count }, () => Effect.tap(statement, () => Effect.sync(() => done.push(organization)))),
          { concurrency: "unbounded" }
        ).pipe(Effect.provideService(CurrentTurn, organization), Effect.forkChild({ startImmediately: true }))
      const blocked = yield* statementsOf("busy", 5, rename(commits, id))
      yield* lockWaits(pids, 5)
      const busy = yield* statementsOf("busy", 200, commits`SELECT 1`)
      const other = yield* statementsOf("other", 5, commits`SELECT 1`)
      const areWaiting = Effect.sync(() =>
        poolUsages().some(({ name, waiting }) => name === "commits" && waiting === 205)
      )
      yield* Effect.repeat(Effect.andThen(Effect.yieldNow, areWaiting), { until: (areAll) => areAll })
      yield* free
      yield* Fiber.join(other)
      // Without turns, all 200 end before. With turns, each of the five waits for about one of them, but a busy machine can delay
      // the results of some connections. `core/test/Turns.test.ts` tests the exact order.
      const before = done.slice(0, done.lastIndexOf("other"))
      assert.isBelow(before.filter((organization) => organization === "busy").length, 100)
      yield* Effect.forEach([blocked, busy], Fiber.join)
    }))

  it.effect("counts the statements in progress, and those that wait for a connection", () =>
    Effect.gen(function*() {
      const commits = yield* CommitConnections
      const pids = yield* Backends.pids(commits, 5)
      const isBusy = ({ statements, waiting }: PoolUsage) => statements + waiting > 0
      assert.isUndefined(poolUsages().find(isBusy))
      const { free, id } = yield* lockedRow
      const renames = Effect.all(Array.from({ length: 8 }, () => rename(commits, id)), { concurrency: "unbounded" })
      const renaming = yield* Effect.forkChild(renames)
      yield* lockWaits(pids, 5)
      assert.deepInclude(poolUsages(), { name: "commits", labels: {}, max: 5, statements: 5, waiting: 3 })
      yield* free
      yield* Fiber.join(renaming)
      assert.isUndefined(poolUsages().find(isBusy))
    }))

  it.effect("lets a commit wait for a row for 2 seconds at most", () =>
    Effect.gen(function*() {
      const { free, id } = yield* lockedRow
      const error = yield* Effect.flip(rename(yield* CommitConnections, id))
      assert.strictEqual(error.reason._tag, "LockTimeoutError")
      yield* free
    }))
})
