/** Decodes the rows that a statement returns into core's types, and deletes old rows. */
import { decoder, type OwnSchema, valuesDecoder } from "@messaging-crm/core/Codecs"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Array, Effect, type Option, type Schema } from "effect"
import type { SqlClient, SqlError, Statement as Sql } from "effect/sql"
import { date } from "./Columns.ts"

/** A statement. Its database errors become defects. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** The schema of every row that is read, for the test that compares the codecs with it. */
export const schemas = new Set<OwnSchema>()

/** The schema of every row that is read by position. */
export const selected = new Set<Schema.Struct<Readonly<Record<string, OwnSchema>>>>()

/** Makes a function that runs a statement and decodes every row. */
export const rows = <S extends OwnSchema>(schema: S) => {
  schemas.add(schema)
  const decode = decoder(schema)
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.orDie(Effect.map(statement, (found) => found.map(decode)))
}

/** The columns that a list selects, and how its rows are read: as their values, in the order of the fields. */
export interface Selection<Row> {
  readonly fields: ReadonlyArray<string>
  readonly columns: string
  readonly decode: (values: ReadonlyArray<unknown>) => Row
  readonly rows: (statement: Sql.Statement<unknown>) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
}

/**
 * Makes the selection of a schema's fields, each by its expression, for a list of many rows.
 *
 * Rows are read by position, because the driver makes an object of each row more slowly than it reads the row.
 */
export const selection = <const Fields extends Readonly<Record<string, OwnSchema>>>(
  schema: Schema.Struct<Fields>,
  expressionOf: (field: string) => string
): Selection<Schema.Struct<Fields>["Type"]> => {
  selected.add(schema)
  schemas.add(schema)
  const fields = Object.keys(schema.fields)
  const decode = valuesDecoder(schema)
  return {
    fields,
    columns: fields.map((field) => `${expressionOf(field)} AS ${field}`).join(", "),
    decode,
    rows: ({ values }) => Effect.map(values, (found) => found.map((row) => decode(row)))
  }
}

/** Makes a function that runs a statement and decodes its first row, if there is one. */
export const first = <S extends OwnSchema>(schema: S) => {
  const decode = rows(schema)
  return (statement: Statement): Effect.Effect<Option.Option<S["Type"]>> => Effect.map(decode(statement), Array.head)
}

/** Runs a statement without a result. */
export const run = (statement: Statement): Effect.Effect<void> => Effect.orDie(Effect.asVoid(statement))

/** Runs a statement and returns the number of rows. */
export const count = (statement: Statement): Effect.Effect<number> =>
  Effect.orDie(Effect.map(statement, (found) => found.length))

/**
 * Makes a function that deletes at most `limit` rows of a table that meet a condition, the oldest by a column, and returns
 * their number. Rows that another transaction has locked are left for the next call, so that the two cannot deadlock.
 */
export const purge =
  (sql: SqlClient.SqlClient, table: string, column: string, condition = "true") =>
  (before: Timestamp, limit: number): Effect.Effect<number> =>
    count(sql`
      DELETE FROM ${sql(table)}
      WHERE ctid = ANY(ARRAY(
        SELECT ctid
        FROM ${sql(table)}
        WHERE ${sql(column)} < ${date(before)} AND ${sql.literal(condition)}
        ORDER BY ${sql(column)}
        LIMIT ${limit}
        FOR UPDATE SKIP LOCKED
      ))
      RETURNING 1
    `)
