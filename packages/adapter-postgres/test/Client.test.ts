import { assert, it } from "@effect/vitest"
import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { Effect, Exit, Fiber } from "effect"
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

  it.effect("fails what a killed backend was doing, and nothing after it", () =>
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

      // Statements of several fibers share a connection, and so its end.
      const suicide = Effect.exit(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
      const ended = yield* Effect.all(Array.from({ length: 40 }, () => suicide), { concurrency: "unbounded" })
      assert.isTrue(ended.every(Exit.isFailure))

      const question = sql<{ readonly answer: number }>`SELECT 42 AS answer`
      const answers = yield* Effect.all(Array.from({ length: 40 }, () => question), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(([row]) => row?.answer)), new Set([42]))
    }))
})
