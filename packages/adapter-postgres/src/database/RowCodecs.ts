/** Converts between core's types and the columns of PostgreSQL, decodes the rows of a statement, and deletes old rows. */
import { decoder, type OwnSchema, valuesDecoder } from "@messaging-crm/core/Codecs"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Array, DateTime, Effect, Option, Schema, SchemaTransformation, Struct } from "effect"
import type { SqlClient, SqlError, Statement as Sql } from "effect/sql"
import * as ClosedOrganization from "./ClosedOrganization.ts"

/**
 * Returns the schema of a row with the fields of a schema. Their values are core's already, because the client converts times. A column
 * of JSON whose content has to be converted needs the schema of the field instead.
 */
export const stored = <const Fields extends Schema.Struct.Fields>(schema: Schema.Struct<Fields>) =>
  schema.mapFields(Struct.map(Schema.toType))

/** Schema for a `timestamptz` column, which the client returns as core's time. */
export const At = Schema.DateTimeUtc

/** Schema for a nullable `timestamptz` column. */
export const OptionalAt = Schema.NullOr(At)

/** Returns the columns of a row's schema as a list in SQL. */
export const columnsOf = ({ fields }: { readonly fields: object }): string => Object.keys(fields).join(", ")

/** Returns a value as a parameter for a `jsonb` column. */
export const json = (value: unknown): string => JSON.stringify(value)

const isJson = (text: string): boolean => Option.isSome(Option.liftThrowable(JSON.parse)(text))

const JsonText = Schema.String.check(Schema.makeFilter(isJson, { expected: "a text of JSON" }))

/** How many texts of one column are kept parsed, and how long each of them may be: a few MB. */
const parsed_max = 4096
const parsed_length_max = 1000

/** Parses JSON, and each of the last texts only once. */
const parserOf = () => {
  const parsed = new Map<string, unknown>()
  return (text: string): unknown => {
    const known = parsed.get(text)
    if (known !== undefined) return known
    const value: unknown = JSON.parse(text)
    if (text.length > parsed_length_max) return value
    if (parsed.size === parsed_max) parsed.clear()
    parsed.set(text, value)
    return value
  }
}

/**
 * Schema for a `jsonb` column that is selected as its text, because many rows of a page have the same value, such as
 * the sender of a message: parsing it takes longer than to read the rest of the row.
 */
export const repeated = <S extends Schema.Constraint>(schema: S) => {
  const parse = parserOf()
  return JsonText.pipe(
    Schema.decodeTo(
      schema,
      SchemaTransformation.transform({ decode: (text) => parse(text) as S["Encoded"], encode: json })
    )
  )
}

/** Returns a timestamp as a parameter for the driver. */
export const date = (at: Timestamp): Date => DateTime.toDateUtc(at)

/** Returns an optional timestamp as a parameter for the driver. */
export const optionalDate = (at: Timestamp | null): Date | null => at === null ? null : date(at)

/**
 * Returns where a page starts: after the position of its request, or before
 * every row there can be. So the first page uses the same statement as the others.
 */
export const startOf = ({ after }: PageRequest): { readonly at: string; readonly id: string } =>
  after === null
    ? { at: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" }
    : { at: DateTime.formatIso(after.at), id: after.id }

/** A statement. Its database errors become defects. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

const asDefect = <A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A> =>
  Effect.catch(statement, ClosedOrganization.die)

/** The schema of every row that is read, for the test that compares the codecs with it. */
export const schemas = new Set<OwnSchema>()

/** The schema of every row that is read by position. */
export const selected = new Set<Schema.Struct<Readonly<Record<string, OwnSchema>>>>()

/** Makes a function that runs a statement and decodes every row. */
export const rows = <S extends OwnSchema>(schema: S) => {
  schemas.add(schema)
  const decode = decoder(schema)
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    asDefect(Effect.map(statement, (found) => found.map(decode)))
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
export const run = (statement: Statement): Effect.Effect<void> => asDefect(Effect.asVoid(statement))

/** Runs a statement and returns the number of rows. */
export const count = (statement: Statement): Effect.Effect<number> =>
  asDefect(Effect.map(statement, (found) => found.length))

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
