import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"

/** What our promises need of a session, as PostgreSQL shows it. */
const promised = {
  application_name: "messaging-crm",
  client_connection_check_interval: "5s",
  idle_in_transaction_session_timeout: "5s",
  statement_timeout: "5s",
  synchronous_commit: "on",
  tcp_keepalives_count: "2",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "5",
  TimeZone: "UTC",
  transaction_timeout: "10s"
}

it.layer(Database.layer)("Client", (it) => {
  it.effect("gives every session the settings that cut what hangs", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly name: string; readonly setting: string }>`
        SELECT name, current_setting(name) AS setting
        FROM pg_settings
        WHERE name = ANY(${Object.keys(promised)}::text[])
      `
      assert.deepStrictEqual(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), promised)
    }))

  it.effect("sends statements of several fibers over one connection", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ask = sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
      const rows = yield* Effect.all(Array.from({ length: 200 }, () => ask), { concurrency: "unbounded" })
      assert.isAtMost(new Set(rows.map(([row]) => row?.pid)).size, 10)
    }))

  it.effect("survives the end of every backend, also of one in a transaction", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const endAll = sql`
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE application_name = 'messaging-crm' AND query LIKE '%the victim%' AND pid <> pg_backend_pid()
      `
      const victim = yield* Effect.forkChild(
        Effect.exit(sql.withTransaction(sql`SELECT pg_sleep(4) AS "the victim"`))
      )
      yield* Effect.repeat(endAll, { until: (ended) => ended.length > 0 })
      const alone = Effect.exit(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
      const ended = yield* Effect.all([alone, alone, alone], { concurrency: "unbounded" })
      assert.isTrue(Exit.isFailure(yield* victim.pipe((fiber) => fiber.await, Effect.flatten)))
      assert.isTrue(ended.some(Exit.isFailure))

      const answers = yield* Effect.all(
        Array.from({ length: 40 }, () => sql<{ readonly one: number }>`SELECT 1 AS one`),
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every(([row]) => row?.one === 1))
    }))
})
