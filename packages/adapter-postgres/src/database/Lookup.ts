/** Look-ups of one row by its key. Concurrent ones share a statement, because most of their cost is that of a statement. */
import { Effect, Exit, Option, Struct } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as Gathering from "./Gathering.ts"

/** The maximum of concurrent statements of one look-up, and of keys in one statement. */
const [statements_max, keys_max] = [2, 128]

export interface Options<Row, Column extends string> {
  /** The columns of the key, with their types. */
  readonly key: Readonly<Record<Column, "text" | "uuid">>
  /** The query for one row, whose key is in the columns of `k`. */
  readonly select: string
  /** Decodes the columns of the query, and `place`, an integer. */
  readonly decode: (
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  ) => Effect.Effect<ReadonlyArray<Row>>
}

/** Makes a function that returns the row with a key. Inside a transaction of the caller, the look-up is part of it. */
export const make = <Row extends { readonly place: number }, Column extends string>(
  sql: SqlClient.SqlClient,
  { decode, key, select }: Options<Row, Column>
) => {
  type Key = Readonly<Record<Column, string>>
  const columns = Struct.keys(key)
  const arrays = columns.map((column, index) => `$${index + 1}::${key[column]}[]`)
  // Each key is looked up on its own (`LIMIT`), so the plan is that of one key, whatever the size of the tables.
  const text = `
    SELECT k.place::int AS place, found.*
    FROM unnest(${arrays.join(", ")}) WITH ORDINALITY AS k (${columns.join(", ")}, place)
    CROSS JOIN LATERAL (${select} LIMIT 1) AS found`

  const find = (keys: ReadonlyArray<Key>): Effect.Effect<ReadonlyArray<Option.Option<Omit<Row, "place">>>> =>
    Effect.map(decode(sql.unsafe(text, columns.map((column) => keys.map((each) => each[column])))), (found) => {
      const byPlace = new Map(found.map(({ place, ...row }) => [place, row]))
      return keys.map((_, index) => Option.fromUndefinedOr(byPlace.get(index + 1)))
    })

  const gather = Gathering.make({
    concurrency: statements_max,
    size: keys_max,
    groupOf: () => "",
    rowsOf: () => [],
    lanesOf: () => [],
    run: (keys: Gathering.Some<Key>) => Effect.map(find(keys), (found) => found.map(Exit.succeed))
  })

  return (of: Key): Effect.Effect<Option.Option<Omit<Row, "place">>> =>
    Effect.flatMap(
      Effect.serviceOption(sql.transactionService),
      (outer) => Option.isNone(outer) ? gather(of) : Effect.map(find([of]), ([row]) => row ?? Option.none())
    )
}
