/** Decodes the rows that a statement returns into core's types, and deletes old rows. */
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { trusted, trustedValues, TrustOwnValues } from "@messaging-crm/core/TrustedCodecs"
import { Array, Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError, Statement as Sql } from "effect/sql"
import { date } from "./Columns.ts"

/** A statement. Its database errors become defects. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

type Row = Schema.Codec<unknown, unknown>

/** The schema of every row that is read, for the test that compares trusted with checked decoding. */
export const schemas = new Set<Row>()

/** The schema of every row that is read by position. */
export const selected = new Set<Schema.Struct<Readonly<Record<string, Row>>>>()

/** Makes a function that runs a statement and decodes every row: without checks where own values are trusted. */
export const rows = <S extends Row>(schema: S) => {
  schemas.add(schema)
  const all = Schema.Array(schema)
  const check = Schema.decodeUnknownEffect(all)
  // Derived from the schema, so it returns what the schema does.
  const trust = trusted(all.ast) as Option.Option<(found: unknown) => typeof all.Type>
  const decode = (found: unknown) =>
    Effect.flatMap(
      TrustOwnValues,
      (isTrusted) => isTrusted && Option.isSome(trust) ? Effect.sync(() => trust.value(found)) : check(found)
    )
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.orDie(Effect.flatMap(statement, decode))
}

/** The columns that a list selects, and how its statement is run and its rows are decoded. */
export interface Selection<Row> {
  readonly columns: string
  readonly rows: (statement: Sql.Statement<unknown>) => Effect.Effect<ReadonlyArray<Row>>
}

/**
 * Makes the selection of a schema's fields, each by its expression, for a list of
 * many rows. Where own values are trusted, rows are decoded by position: the driver
 * makes an object of each row far slower than it reads the row.
 */
export const selection = <const Fields extends Readonly<Record<string, Row>>>(
  schema: Schema.Struct<Fields>,
  expressionOf: (field: string) => string
): Selection<Schema.Struct<Fields>["Type"]> => {
  selected.add(schema)
  const check = rows(schema)
  const trust = trustedValues(schema.ast) as Option.Option<
    (values: ReadonlyArray<unknown>) => Schema.Struct<Fields>["Type"]
  >
  return {
    columns: Object.keys(schema.fields).map((field) => `${expressionOf(field)} AS ${field}`).join(", "),
    rows: (statement) =>
      Effect.flatMap(TrustOwnValues, (isTrusted) =>
        isTrusted && Option.isSome(trust)
          ? Effect.orDie(Effect.map(statement.values, (found) => found.map((values) => trust.value(values))))
          : check(statement))
  }
}

/** Makes a function that runs a statement and decodes its first row, if there is one. */
export const first = <S extends Row>(schema: S) => {
  const decode = rows(schema)
  return (statement: Statement): Effect.Effect<Option.Option<S["Type"]>> => Effect.map(decode(statement), Array.head)
}

/** Runs a statement and returns the number of rows. */
export const count = (statement: Statement): Effect.Effect<number> =>
  Effect.orDie(Effect.map(statement, (found) => found.length))

/** Makes a function that deletes at most `limit` rows of a table, the oldest by a column, and returns their number. */
export const purge =
  (sql: SqlClient.SqlClient, table: string, column: string) =>
  (before: Timestamp, limit: number): Effect.Effect<number> =>
    count(sql`
      DELETE FROM ${sql(table)}
      WHERE ctid = ANY(ARRAY(
        SELECT ctid
        FROM ${sql(table)}
        WHERE ${sql(column)} < ${date(before)}
        ORDER BY ${sql(column)}
        LIMIT ${limit}
      ))
      RETURNING 1
    `)
