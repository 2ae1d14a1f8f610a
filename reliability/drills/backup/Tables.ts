/** The contents of a database's tables. */
import type { PgConnection } from "@effect/sql-pg"
import { Effect } from "effect"

export type Query = (sql: string) => Effect.Effect<ReadonlyArray<PgConnection.Row>>

export interface Contents {
  readonly rows: number
  readonly digest: string
}

/** Returns the number and a digest of the rows of each table. */
export const contentsOf = Effect.fnUntraced(function*(query: Query) {
  const tables = yield* query(`
    SELECT oid::regclass::text AS name
    FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
  `)
  const contents = new Map<string, Contents>()
  for (const { name } of tables) {
    const [row] = yield* query(`
      SELECT count(*)::integer AS rows, md5(coalesce(string_agg(line, E'\\n' ORDER BY line), '')) AS digest
      FROM (SELECT t::text AS line FROM ${String(name)} AS t) AS lines
    `)
    contents.set(String(name), { rows: Number(row?.["rows"]), digest: String(row?.["digest"]) })
  }
  return contents
})

/** Returns the tables that differ. */
export const differences = (
  one: ReadonlyMap<string, Contents>,
  other: ReadonlyMap<string, Contents>
): ReadonlyArray<string> =>
  Array.from(new Set([...one.keys(), ...other.keys()])).filter((name) =>
    one.get(name)?.digest !== other.get(name)?.digest
  )
