/** A client's connections, as the database lists them. */
import { Effect, Latch } from "effect"
import type { SqlClient } from "effect/sql"

/** Returns the process that serves a connection. */
export const pid = (sql: SqlClient.SqlClient) =>
  Effect.map(sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`, ([row]) => row?.pid ?? 0)

/** Returns the processes that serve as many transactions at once, so as many connections. */
export const pids = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, count: number) {
  const all = yield* Latch.make()
  const found = new Set<number>()
  const transaction = Effect.gen(function*() {
    found.add(yield* pid(sql))
    if (found.size === count) yield* all.open
    yield* all.await
  }).pipe(sql.withTransaction)
  yield* Effect.all(Array.from({ length: count }, () => transaction), { concurrency: "unbounded" })
  return Array.from(found)
})
