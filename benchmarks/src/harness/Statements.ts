/** The statements that take the most time in PostgreSQL, from `pg_stat_statements`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Resets the statistics. */
export const reset = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(sql`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`, sql`SELECT pg_stat_statements_reset()`)
)

/** Returns the eight statements that took the most time since the reset, per item. */
export const slowest = Effect.fnUntraced(function*(items: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly calls: number; readonly us: number; readonly query: string }>`
    SELECT calls::float8 AS calls, (total_exec_time + total_plan_time) * 1000 AS us, query
    FROM pg_stat_statements
    WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'
    ORDER BY total_exec_time + total_plan_time DESC
    LIMIT 8
  `
  return rows.map(({ calls, query, us }) =>
    `${(calls / items).toFixed(2)} x ${Math.round(us / calls)} us = ${Math.round(us / items)} us: ${
      query.replaceAll(/\s+/g, " ").slice(0, 90)
    }`
  )
})

/** Counts the statements that clients send from now on (`top`), or none, so that counting costs no time. */
export const setTracking = Effect.fnUntraced(function*(tracking: "none" | "top") {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`
  yield* sql.unsafe(`ALTER SYSTEM SET pg_stat_statements.track = '${tracking}'`)
  yield* sql`SELECT pg_reload_conf()`
})

/** Returns the number of statements for each of `count` requests. BEGIN and COMMIT are not counted. */
export const perRequest = Effect.fnUntraced(function*<A, E, R>(count: number, request: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  yield* reset
  yield* Effect.replicateEffect(request, count)
  const [row] = yield* sql<{ readonly calls: number }>`
    SELECT sum(calls)::integer AS calls
    FROM pg_stat_statements
    WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'
      -- Checks of foreign keys are the database's own.
      AND query NOT LIKE 'SELECT 1 FROM ONLY %'
  `
  return Math.round((row?.calls ?? 0) / count * 10) / 10
})
