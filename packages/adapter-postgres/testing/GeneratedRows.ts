/** The SQL that fills a database with many rows which are the same in every run. */

/** The IDs of generated rows: the kind of a row and its number determine its ID. */
export const idsOf = <const Kind extends string>(kinds: ReadonlyArray<Kind>) => {
  const prefix = (kind: Kind) => `${String(kinds.indexOf(kind)).padStart(8, "0")}-0000-7000-8000-`
  return {
    /** Returns the ID of a row. */
    id: (kind: Kind, number: number): string => `${prefix(kind)}${number.toString(16).padStart(12, "0")}`,
    /** Returns the SQL of the ID of the row whose number an SQL expression computes. */
    idOf: (kind: Kind, number: string): string => `('${prefix(kind)}' || lpad(to_hex(${number}), 12, '0'))::uuid`
  }
}

/** Returns the SQL of an integer from 0 to below `bound`: a hash of the column `n`, independent for each `seed`. */
export const spread = (seed: number, bound: number): string => `(abs(hashint8extended(n, ${seed})) % ${bound})::integer`

export interface Index {
  readonly name: string
  readonly definition: string
}

/** Lists the indexes to drop before the rows are inserted and to create afterward, which is many times faster. */
export const secondary_indexes = `
  SELECT indexname AS name, indexdef AS definition
  FROM pg_indexes
  WHERE schemaname = current_schema() AND indexdef NOT LIKE 'CREATE UNIQUE%'`
