/** The rows of an organization as JSON, which PostgreSQL writes in one database and reads in the other. */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as DepartedKeys from "./DepartedKeys.ts"
import * as EventNumbers from "./EventNumbers.ts"
import type { MovedTable } from "./MovedTables.ts"

const list = (columns: ReadonlyArray<string>): string => columns.map((column) => `"${column}"`).join(", ")

/** Selects columns of all rows of the organization. */
const select = ({ name, owner }: MovedTable, organization_id: OrganizationId, columns: string): string =>
  // A cursor has no parameters. The ID is a UUID.
  `SELECT ${columns} FROM ${name} stored WHERE "${owner}" = '${organization_id}'`

/** The columns as the new database gets them, except for the numbers of events. */
const moved = (table: MovedTable): string =>
  table.columns.filter((column) => !EventNumbers.isNumber(table, column)).map((column) =>
    DepartedKeys.isDigest(table, column) ? `${DepartedKeys.hidden} AS "${column}"` : `"${column}"`
  ).join(", ")

/** Runs a statement without keeping its plan. */
const run = <Row extends object = object>(text: string, parameters: ReadonlyArray<unknown> = []) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe<Row>(text, parameters).unprepared)

/** The text of a page of rows, and the number of rows of the first one. */
const [page_chars, first_rows] = [4_000_000, 8]

/** Rows as JSON, and the length of their text. */
export interface MovedPage {
  readonly json: string
  readonly rows: number
  readonly bytes: number
}

/** Passes all rows of a table on in pages, inside a transaction with one snapshot. */
export const forEachPage = Effect.fnUntraced(function*<E, R>(
  organization_id: OrganizationId,
  table: MovedTable,
  take: (page: MovedPage) => Effect.Effect<void, E, R>
) {
  const rows = EventNumbers.hasNumbers(table)
    ? EventNumbers.selectNumbered(moved(table), select(table, organization_id, "*"))
    : select(table, organization_id, moved(table))
  yield* run(`DECLARE moved NO SCROLL CURSOR FOR SELECT row_to_json(row)::text AS json FROM (${rows}) row`)
  let size = first_rows
  while (true) {
    const page = yield* run<{ readonly json: string }>(`FETCH ${size} FROM moved`)
    if (page.length === 0) break
    const json = `[${page.map((row) => row.json).join(",")}]`
    yield* take({ json, rows: page.length, bytes: Buffer.byteLength(json) })
    size = Math.max(1, Math.min(2000, size * 4, Math.floor((page_chars * page.length) / json.length)))
  }
  yield* run("CLOSE moved")
})

/** Stores a page of rows. */
export const store = (table: MovedTable, { json }: MovedPage) =>
  run(
    `INSERT INTO ${table.name} (${list(table.columns)}) OVERRIDING SYSTEM VALUE
    SELECT ${list(table.columns)} FROM json_populate_recordset(NULL::${table.name}, $1::json)`,
    [json]
  )

/** Removes at most 5,000 rows of a table, and returns their number. */
export const removeSome = (organization_id: OrganizationId, table: MovedTable) =>
  Effect.map(
    run(
      `DELETE FROM ${table.name}
      WHERE ctid = ANY(ARRAY(${select(table, organization_id, "stored.ctid")} LIMIT 5000))
      RETURNING 1`
    ),
    (removed) => removed.length
  )

/** The number of rows, and a sum of their digests, which does not depend on their order. */
export interface Digest {
  readonly rows: number
  readonly digest: string
}

/** Returns the digest of all rows of a table. */
export const digest = (organization_id: OrganizationId, table: MovedTable) =>
  Effect.map(
    run<Digest>(
      `SELECT count(*)::float8 AS rows, coalesce(sum(hashtextextended(row::text, 0)::numeric), 0)::text AS digest
      FROM (${select(table, organization_id, moved(table))}) row`
    ),
    ([found]) => found ?? { rows: -1, digest: "" }
  )
