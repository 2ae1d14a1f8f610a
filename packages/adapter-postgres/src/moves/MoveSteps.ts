/** The steps of a move in their order, and those that undo it. Each can be repeated. `Moves.ts` describes the states. */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Data, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as DepartedKeys from "./DepartedKeys.ts"
import * as EventNumbers from "./EventNumbers.ts"
import * as Guards from "./Guards.ts"
import * as MovedRows from "./MovedRows.ts"
import * as MovedTables from "./MovedTables.ts"
import * as Moves from "./Moves.ts"

/** A client of a database. */
export type Database = SqlClient.SqlClient

/** The two databases of a move. */
export interface Transfer {
  readonly run: Moves.Run
  readonly source: Database
  readonly target: Database
}

/** Runs an effect in a database, in its current transaction if it has one. */
export const on = <A, E, R>(database: Database, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, SqlClient.SqlClient, database)

/** The tables of the two databases differ: they have schemas of different versions. */
export class TablesDiffer extends Data.TaggedError("TablesDiffer")<{}> {
  override readonly message = "The two databases have different tables. Run `messaging-crm migrate`"
}

/** The new database has an organization with this ID, which no move has begun to store. */
export class OrganizationStored extends Data.TaggedError("OrganizationStored")<{}> {
  override readonly message = "The other database has rows of this organization already"
}

/** The rows of a table differ after they were copied. */
export class RowsDiffer extends Data.TaggedError("RowsDiffer")<{ readonly table: string }> {
  override get message() {
    return `The rows of ${this.table} differ after the copy`
  }
}

/** Returns whether a database has an organization, or a part of it. */
export const hasOrganization = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT FROM organizations WHERE id = ${organization_id}`).length > 0
})

/** Fails if the two databases have different tables. */
export const requireSameTables = Effect.fnUntraced(function*({ source, target }: Transfer) {
  const tables = Effect.map(MovedTables.read, (found) => JSON.stringify(found))
  if ((yield* on(source, tables)) !== (yield* on(target, tables))) return yield* new TablesDiffer()
})

/** Removes all rows of the organization from a database, in batches. Those to which others refer come last. */
const clear = Effect.fnUntraced(function*(run: Moves.Run) {
  const tables = (yield* MovedTables.read).toReversed()
  yield* Moves.asMover(run, DepartedKeys.removeCounters(run.organization_id))
  // Links to files and streams of events need no further authentication, so what they need is removed first.
  const isFirst = ({ name }: MovedTables.MovedTable) => name.startsWith("media") || name === "api_keys"
  for (const table of [...tables.filter(isFirst), ...tables.filter((table) => !isFirst(table))]) {
    yield* Effect.repeat(Moves.asMover(run, MovedRows.removeSome(run.organization_id, table)), {
      until: (removed) => removed === 0
    })
  }
})

/** Begins to store the organization in the new database, closed for all other writes, or takes over. Returns the state. */
export const receive = ({ run, target }: Transfer, source: string) =>
  on(
    target,
    Effect.gen(function*() {
      const isNew = (yield* Moves.find(run.organization_id))._tag === "None"
      if (isNew && (yield* hasOrganization(run.organization_id))) return yield* new OrganizationStored()
      const state = yield* Moves.begin(run, source, "arriving")
      if (state === "arriving") yield* Guards.create(run)
      return state
    })
  )

/** Begins a move in the old database, or takes over. Returns the state. */
export const track = ({ run, source }: Transfer, target: string) =>
  on(
    source,
    Effect.gen(function*() {
      const state = yield* Moves.begin(run, target, "open")
      if (state === "open") yield* Guards.create(run)
      return state
    })
  )

/** Returns the number of leases of the organization's work that have not ended. */
const countLeases = ({ organization_id }: Moves.Run) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql<{ readonly count: number }>`
        SELECT count(*)::float8 AS count FROM work WHERE organization_id = ${organization_id} AND leased_until > now()
      `,
      ([found]) => found?.count ?? 0
    )
  )

/** Sets when claims check the organization's lanes, which are locked in the order of commits. */
const scheduleLanes = ({ organization_id }: Moves.Run, next_due: "-infinity" | "infinity") =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      WITH locked AS MATERIALIZED (
        SELECT name FROM work_lanes WHERE organization_id = ${organization_id} ORDER BY name FOR UPDATE
      )
      UPDATE work_lanes lane
      SET
        next_due = greatest(${next_due}::timestamptz, CASE WHEN ${next_due} <> 'infinity' THEN paused_until END),
        closed = false,
        emptied_at = NULL
      FROM locked
      WHERE lane.name = locked.name
    `
  )

/** Ends the claims of the organization's work, and waits until its work in progress has ended, for at most a minute. */
export const drain = ({ run, source }: Transfer) =>
  on(
    source,
    Effect.gen(function*() {
      yield* Moves.asMover(run, Moves.setState(run, "draining"))
      // Another transaction, because a commit can have locked a lane and read the state.
      yield* Moves.asMover(run, scheduleLanes(run, "infinity"))
      yield* Effect.repeat(countLeases(run), {
        until: (count) => count === 0,
        schedule: Schedule.spaced("100 millis"),
        times: 600
      })
    })
  )

/** Closes the organization for writes, and waits until all writers have ended: a statement runs for 5 seconds at most. */
export const close = ({ run, source }: Transfer) =>
  on(
    source,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* Moves.asMover(run, Moves.setState(run, "closed"))
      yield* Moves.asMover(run, sql`SELECT FROM organizations WHERE id = ${run.organization_id} FOR UPDATE`)
    })
  )

/** Fails if the rows of a table differ between the databases. */
const compare = Effect.fnUntraced(function*({ run, source, target }: Transfer, table: MovedTables.MovedTable) {
  const digests = [MovedRows.digest(run.organization_id, table)]
  if (EventNumbers.hasNumbers(table)) {
    digests.push(Effect.map(EventNumbers.order(run.organization_id), (digest) => ({ rows: 0, digest })))
  }
  const read = Moves.onSnapshot(Effect.all(digests))
  const [one, other] = yield* Effect.all([on(source, read), on(target, read)], { concurrency: 2 })
  if (JSON.stringify(one) !== JSON.stringify(other)) return yield* new RowsDiffer({ table: table.name })
})

/** Copies all rows of the closed organization, and compares them. Returns how many there are. */
export const copy = Effect.fnUntraced(function*(transfer: Transfer) {
  const { run, source, target } = transfer
  let [rows, bytes] = [0, 0]
  // Those of an interrupted copy.
  yield* on(target, clear(run))
  const tables = yield* on(source, MovedTables.read)
  yield* on(
    source,
    Moves.onSnapshot(Effect.forEach(tables, (table) =>
      MovedRows.forEachPage(run.organization_id, table, (page) => {
        rows += page.rows
        bytes += page.bytes
        return on(target, Moves.asMover(run, MovedRows.store(table, page)))
      }), { discard: true }))
  )
  yield* Effect.forEach(tables, (table) => compare(transfer, table), { discard: true })
  yield* on(target, EventNumbers.exceed(run.organization_id))
  return { rows, bytes }
})

/** Ends the access to the organization in the old database. */
export const depart = ({ run, source }: Transfer) =>
  on(
    source,
    Moves.asMover(
      run,
      Effect.andThen(Moves.setState(run, "departed"), DepartedKeys.set(run.organization_id, true))
    )
  )

/** Lets the new database take over in one transaction. Returns for how many milliseconds writes waited. */
export const arrive = Effect.fnUntraced(function*({ run, source, target }: Transfer) {
  const counters = yield* on(source, DepartedKeys.loadCounters(run.organization_id))
  const step = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* DepartedKeys.set(run.organization_id, false)
    yield* DepartedKeys.removeCounters(run.organization_id)
    yield* DepartedKeys.storeCounters(counters)
    yield* scheduleLanes(run, "-infinity")
    // Later items of a lane follow those that were moved.
    yield* sql`
      SELECT setval(
        pg_get_serial_sequence('work', 'seq'),
        greatest(nextval(pg_get_serial_sequence('work', 'seq')), max(seq) + 1)
      )
      FROM work
      WHERE organization_id = ${run.organization_id}
    `
    yield* Moves.setState(run, "arrived")
  })
  yield* on(target, Moves.asMover(run, step))
  return yield* on(source, Moves.closedTime(run))
})

/** Removes a database's part of a move: the rows, the triggers, and the state. */
const discardRows = Effect.fnUntraced(function*(run: Moves.Run) {
  yield* clear(run)
  yield* endGuarded(run)
})

/** Removes the triggers and the state of a move. */
const endGuarded = (run: Moves.Run) => Effect.andThen(Guards.remove(run), Moves.end(run))

/** Removes the organization from the old database, after it has arrived. */
export const leave = ({ run, source }: Transfer) => on(source, discardRows(run))

/** Ends the move in the new database, which keeps the organization. */
export const settle = ({ run, target }: Transfer) => on(target, endGuarded(run))

/** Takes over the new database's part of a move, so that it cannot arrive any more. Returns false if it has arrived. */
export const abandon = ({ run, target }: Transfer, source: string) =>
  on(target, Effect.map(Moves.begin(run, source, "arriving"), (state) => state !== "arrived"))

/** Opens the organization in the old database again. */
export const reopen = ({ run, source }: Transfer) =>
  on(
    source,
    Effect.gen(function*() {
      yield* Moves.asMover(
        run,
        Effect.andThen(DepartedKeys.set(run.organization_id, false), Moves.setState(run, "open"))
      )
      yield* Moves.asMover(run, scheduleLanes(run, "-infinity"))
    })
  )

/** Removes the copied rows from the new database. */
export const discard = ({ run, target }: Transfer) => on(target, discardRows(run))

/** Ends the move in the old database, which keeps the organization. */
export const forget = ({ run, source }: Transfer) => on(source, endGuarded(run))
