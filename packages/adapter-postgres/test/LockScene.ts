/** Rows of every table that core declares, and whether another session has locked them. */
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import type * as Changes from "@messaging-crm/core/Changes"
import { OrganizationId } from "@messaging-crm/core/Ids"
import type { Table } from "@messaging-crm/core/Table"
import { Array, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CommitRequest } from "../src/work/Commit/Part.ts"
import { statementOf } from "../src/work/Commit/Statement.ts"

/** Removes the constraints that generated values do not meet. */
export const withoutConstraints = SqlClient.SqlClient.use((sql) =>
  sql.unsafe(`
    DO $$
    DECLARE
      found record;
    BEGIN
      FOR found IN
        SELECT conrelid::regclass AS relation, conname
        FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace AND contype IN ('c', 'f')
        ORDER BY contype DESC
      LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.relation, found.conname);
      END LOOP;
      ALTER TABLE media ALTER begun_at DROP NOT NULL;
    END
    $$
  `)
)

/** Returns a value of a type, which no other row has. */
const valueOf = (type: string | undefined, unique: string): unknown => {
  switch (type) {
    case "boolean":
      return false
    case "bytea":
      return "\\x00"
    case "integer":
    case "smallint":
      return 1
    case "jsonb":
    case "text[]":
      return []
    case "timestamp with time zone":
      return "2026-11-20T12:00:00.000Z"
    default:
      return unique
  }
}

/** Returns the types of a table's columns. */
export const typesOf = ({ name }: Table) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ readonly column: string; readonly type: string }>`
      SELECT attname AS column, format_type(atttypid, NULL) AS type
      FROM pg_attribute
      WHERE attrelid = ${name}::regclass AND attnum > 0 AND NOT attisdropped
    `.pipe(Effect.map((found) => new Map(found.map(({ column, type }) => [column, type]))))
  )

/** A row that commits can change, with the organization that it belongs to. */
export interface OwnedRow {
  readonly organization_id: OrganizationId
  readonly table: Table
  readonly key: Changes.Key
  readonly columns: Readonly<Record<string, unknown>>
}

/** The rows of a table that no session has inserted yet, two of each of two organizations, in the order of locks. */
export const newRows = Effect.fnUntraced(function*(table: Table) {
  const uuids = yield* Effect.replicateEffect(Fixtures.uuid, 8)
  const types = yield* typesOf(table)
  const [one = "", two = "", ...ids] = uuids.toSorted()
  return ids.slice(0, 4).map((id, index): OwnedRow => {
    const isOrganization = table.owner !== "organization_id"
    const organization_id = OrganizationId.make(isOrganization ? id : index < 2 ? one : two)
    const key = Object.fromEntries(Object.keys(table.key).map((column) => [column, id]))
    const columns = table.columns.map((column) => [column, valueOf(types.get(column), id)] as const)
    return { organization_id, table, key, columns: Object.fromEntries(columns) }
  })
})

/** Inserts rows, with a version of 1. */
export const insertRows = (rows: ReadonlyArray<OwnedRow>) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.forEach(rows, ({ columns, key, organization_id, table }) => {
      const row = { [table.owner]: organization_id, ...key, ...columns }
      const names = Object.keys(row).join(", ")
      return sql.unsafe(
        `INSERT INTO ${table.name} (${names}) SELECT ${names} FROM jsonb_populate_record(NULL::${table.name}, $1::jsonb)`,
        [JSON.stringify(row)]
      )
    }, { discard: true })
  )

/** Returns the table and the condition that select a row. */
export const rowIn = (sql: SqlClient.SqlClient, { key, organization_id, table }: OwnedRow) =>
  sql`${sql(table.name)} WHERE ${
    sql.and(
      Object.entries({ [table.owner]: organization_id, ...key }).map(([column, value]) =>
        sql`${sql(column)} = ${value}`
      )
    )
  }`

/** Returns whether the session gets a lock on a row without waiting. */
export const canLock = Effect.fnUntraced(function*(row: OwnedRow, strength: "NO KEY UPDATE" | "SHARE" | "UPDATE") {
  const sql = yield* SqlClient.SqlClient
  const locked = yield* sql`SELECT 1 FROM ${rowIn(sql, row)} FOR ${sql.literal(strength)} SKIP LOCKED`
  return locked.length === 1
})

/** Runs changes of several organizations in one statement. */
export const runAsOne = (
  sql: SqlClient.SqlClient,
  requests: ReadonlyArray<Omit<CommitRequest, "trace">>,
  lock_timeout = "5s"
) =>
  Effect.suspend(() => {
    const traced = requests.map((request) => ({ ...request, trace: null }))
    if (!Array.isReadonlyArrayNonEmpty(traced)) return Effect.die(new Error("There are no changes."))
    const { parameters, text } = statementOf(traced, lock_timeout)
    return sql.unsafe(text, parameters)
  })
