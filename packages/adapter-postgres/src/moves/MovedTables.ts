/** The tables with rows of organizations, as the catalog of a database describes them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface MovedTable {
  readonly name: string
  /** The column with the ID of the organization. */
  readonly owner: string
  /** The columns that can be written, in their order. */
  readonly columns: ReadonlyArray<string>
  /** The tables to which its rows refer. */
  readonly parents: ReadonlyArray<string>
}

/** Sorts tables so that each comes after those to which its rows refer. */
const sorted = (tables: ReadonlyArray<MovedTable>): ReadonlyArray<MovedTable> => {
  const placed: Array<MovedTable> = []
  while (placed.length < tables.length) {
    const next = tables.find((table) =>
      !placed.includes(table) && table.parents.every((parent) => placed.some(({ name }) => name === parent))
    )
    if (next === undefined) throw new Error("The foreign keys of the tables form a cycle")
    placed.push(next)
  }
  return placed
}

/** Reads the tables from the catalog, each after those to which its rows refer. */
export const read = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<MovedTable>`
    SELECT
      class.relname::text AS name,
      owner.attname::text AS owner,
      array(
        SELECT attname::text
        FROM pg_attribute
        WHERE attrelid = class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ORDER BY attname
      ) AS columns,
      array(
        SELECT DISTINCT confrelid::regclass::text
        FROM pg_constraint
        WHERE conrelid = class.oid AND contype = 'f' AND confrelid <> conrelid
        ORDER BY 1
      ) AS parents
    FROM pg_class class
    JOIN pg_attribute owner ON owner.attrelid = class.oid
      AND owner.attname = CASE class.relname WHEN 'organizations' THEN 'id' ELSE 'organization_id' END
    WHERE class.relkind = 'r' AND class.relnamespace = current_schema()::regnamespace
      AND class.relname <> 'organization_moves'
    ORDER BY class.relname
  `
  return sorted(found)
})
