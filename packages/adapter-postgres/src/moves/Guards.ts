/** The triggers of an organization that is being moved. No table has any at other times. */
import { Effect, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as MovedTables from "./MovedTables.ts"
import type { Run } from "./Moves.ts"

const nameOf = (event: string, { organization_id }: Run): string =>
  `guard_${event}_${organization_id.replaceAll("-", "")}`

/** Returns the statements that create the triggers of a table. Rows that the move itself writes do not call the function. */
const creations = (run: Run, { name, owner }: MovedTables.MovedTable): ReadonlyArray<string> =>
  ([["insert", "INSERT", "NEW"], ["change", "UPDATE OR DELETE", "OLD"]] as const).map(([event, events, row]) => `
    CREATE OR REPLACE TRIGGER ${nameOf(event, run)} BEFORE ${events} ON ${name} FOR EACH ROW
    WHEN (
      ${row}.${owner} = '${run.organization_id}'
      AND coalesce(current_setting('messaging_crm.mover', true), '') <> '${run.organization_id}'
    )
    EXECUTE FUNCTION guard_organization('${run.organization_id}')
  `)

const removals = (run: Run, { name }: MovedTables.MovedTable): ReadonlyArray<string> =>
  ["insert", "change"].map((event) => `DROP TRIGGER IF EXISTS ${nameOf(event, run)} ON ${name}`)

const isLocked = (error: unknown): boolean =>
  SqlError.isSqlError(error) && (error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError")

/** Retries a step that waits for a lock for a short time only. It does so for 10 minutes, because a dump can lock a table for long. */
const retried = <A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(step, {
    while: isLocked,
    schedule: Schedule.spaced("500 millis").pipe(Schedule.jittered, Schedule.upTo({ duration: "10 minutes" }))
  })

/**
 * Runs the statements of each table. A statement waits for the writers of the table, and later writers of every organization
 * wait for it: less than a quarter of a second.
 */
const eachTable = Effect.fnUntraced(function*(statementsOf: (table: MovedTables.MovedTable) => ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  for (const table of yield* MovedTables.read) {
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`SET LOCAL lock_timeout = '200ms'`
      for (const statement of statementsOf(table)) yield* sql.unsafe(statement).unprepared
    })).pipe(retried)
  }
})

/** Creates the triggers. From its end on, every change of a row calls `guard_organization.sql`. */
export const create = (run: Run) => eachTable((table) => creations(run, table))

/** Removes the triggers. */
export const remove = (run: Run) => eachTable((table) => removals(run, table))
