/** Other sessions that stand in the way of a commit. */
import type { ContactId } from "@messaging-crm/core/Ids"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient, type Statement } from "effect/sql"

/** Runs `write` in a transaction of another session, which stays open while `meanwhile` runs. */
export const whileOpen = Effect.fnUntraced(function*<A, E, R, E2, R2>(
  write: Effect.Effect<unknown, E2, R2>,
  meanwhile: (pid: number) => Effect.Effect<A, E, R>
) {
  const sql = yield* SqlClient.SqlClient
  const held = yield* Deferred.make<number>()
  const end = yield* Deferred.make<void>()
  const holder = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function*() {
    yield* write
    const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
    yield* Deferred.succeed(held, row?.pid ?? 0)
    yield* Deferred.await(end)
  })))
  const failed = Effect.andThen(Fiber.join(holder), Effect.never)
  const response = yield* Effect.flatMap(Effect.raceFirst(Deferred.await(held), failed), meanwhile)
  yield* Deferred.succeed(end, undefined)
  yield* Fiber.join(holder)
  return response
})

/** Locks rows, given by a table and a condition, in another session while `meanwhile` runs. */
export const whileLocked = <A, E, R>(
  rows: Statement.Fragment,
  meanwhile: (pid: number) => Effect.Effect<A, E, R>
) => SqlClient.SqlClient.use((sql) => whileOpen(sql`SELECT 1 FROM ${rows} FOR UPDATE`, meanwhile))

/** Locks a contact's row in another session while `meanwhile` runs. */
export const whileHeld = <A, E, R>(id: ContactId, meanwhile: (pid: number) => Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => whileLocked(sql`contacts WHERE id = ${id}`, meanwhile))

/** Returns the backend that has waited for another one for an interval, once there is one. */
export const waiterFor = Effect.fnUntraced(function*(pid: number, interval = "0") {
  const sql = yield* SqlClient.SqlClient
  const waiting = sql<{ readonly pid: number }>`
    SELECT pid
    FROM pg_locks
    WHERE NOT granted AND ${pid}::integer = ANY(pg_blocking_pids(pid))
      AND waitstart <= clock_timestamp() - ${interval}::interval
  `
  const [row] = yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
  return row?.pid ?? 0
})

/** Makes PostgreSQL abort the first updates of contacts with a name, with the given error code. */
export const breakOff = Effect.fnUntraced(function*(company: string, times: number, code: string) {
  const sql = yield* SqlClient.SqlClient
  const name = `broken_off_${code.toLowerCase()}_${times}`
  yield* sql.unsafe(`CREATE SEQUENCE ${name}`)
  yield* sql.unsafe(`
    CREATE FUNCTION ${name}() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      IF nextval('${name}') <= ${times} THEN
        RAISE EXCEPTION 'broken off' USING ERRCODE = '${code}';
      END IF;
      RETURN NEW;
    END
    $$
  `)
  yield* sql.unsafe(`
    CREATE TRIGGER ${name} BEFORE UPDATE ON contacts
    FOR EACH ROW WHEN (NEW.company = '${company}') EXECUTE FUNCTION ${name}()
  `)
  return Effect.map(
    sql.unsafe<{ readonly last_value: number }>(`SELECT last_value::int AS last_value FROM ${name}`),
    ([row]) => row?.last_value ?? 0
  )
})
