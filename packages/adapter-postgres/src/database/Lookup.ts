/** Look-ups of one row by its key, which share a statement. */
import { Effect, Option, Schema, Struct } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as LookupBatcher from "./LookupBatcher.ts"
import { rows } from "./Rows.ts"

export interface Options<Row, Column extends string> {
  /** The columns of the key, with their types. */
  readonly key: Readonly<Record<Column, "text" | "uuid">>
  /** The query for one row, whose key is in the columns of `k`. */
  readonly select: string
  /** Decodes the columns of the query. */
  readonly decode: (
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  ) => Effect.Effect<ReadonlyArray<Row>>
}

/** The column with the number of the key that a row was found for. */
const Placed = rows(Schema.Struct({ place: Schema.Int }))

/** Makes a function that returns the row with a key. Inside a transaction of the caller, the look-up is part of it. */
export const make = <Row, Column extends string>(
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

  const find = Effect.fnUntraced(function*(keys: LookupBatcher.Some<Key>) {
    const values = columns.map((column) => keys.map((each) => each[column]))
    const raw = yield* Effect.orDie(sql.unsafe(text, values))
    const places = yield* Placed(Effect.succeed(raw))
    const found = yield* decode(Effect.succeed(raw))
    const answers = keys.map((): Option.Option<Row> => Option.none())
    for (const [index, { place }] of places.entries()) answers[place - 1] = Option.fromUndefinedOr(found[index])
    return answers
  })

  return LookupBatcher.make(sql, find)
}
