/**
 * Lists of rows with long texts: a page ends at `page_bytes_max` bytes of these texts (contract §6.2).
 *
 * Summing the lengths in each list would take half as long as reading an ordinary page. So the first statement leaves out every text
 * that is too long for its share of a page. If it finds such a text, a second statement reads the page up to the limit.
 *
 * Both know the length of a text without reading it. Therefore, long columns of the type `jsonb` are not compressed.
 */
import type { OwnSchema } from "@messaging-crm/core/Codecs"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import type { Found, Position } from "@messaging-crm/core/Page"
import { Turns } from "@messaging-crm/core/Turns"
import { Effect, Predicate, type Schema } from "effect"
import type { SqlClient, SqlError, Statement as Sql } from "effect/sql"
import { selection } from "./RowCodecs.ts"

/** The types of long columns, by name. */
type Columns = Readonly<Record<string, "jsonb" | "text">>

/** Returns the expression of a column's length in bytes, which does not read the column. */
const lengthOf = (column: string, type: Columns[string]): string =>
  type === "text" ? `octet_length(${column})` : `pg_column_size(${column})`

/** Returns a long column, or an empty text if it is too long. */
const shortened = (column: string, type: Columns[string], bytes_max: number): string =>
  `CASE WHEN ${lengthOf(column, type)} > ${bytes_max} THEN ${type === "text" ? "''" : "'\"\"'"} ELSE ${column} END`

const isMatch = (values: ReadonlyArray<unknown>): boolean => values.at(-1) === true

/** The turns of long pages. A process reads one at a time, because each occupies the event loop for tens of milliseconds. */
const turns = new Turns<OrganizationId>({ places: 1 })

/** A page to read. */
interface Wanted {
  readonly organization_id: OrganizationId
  /** Returns the statement that selects columns for the page, in the list's order. */
  readonly statementOf: (columns: string) => Sql.Statement<unknown>
  /** Whether the last column is `is_match`. It is false only for the row at which a search stopped. */
  readonly has_matches?: boolean
  /** Runs before a second statement. */
  readonly proceed?: Effect.Effect<void>
}

export interface LongRows<Row> {
  readonly page: (sql: SqlClient.SqlClient, wanted: Wanted) => Effect.Effect<Found<Row>, SqlError.SqlError>
}

/** Makes the selection of a schema's fields, each by its expression, for a list with long columns. */
export const longRows = <const Fields extends Readonly<Record<string, OwnSchema>>>(
  schema: Schema.Struct<Fields>,
  expressionOf: (field: string) => string,
  { long, positionOf, time }: {
    readonly long: Columns
    readonly positionOf: (row: Schema.Struct<Fields>["Type"]) => Position
    /** The column that the list is ordered by. */
    readonly time: string
  }
): LongRows<Schema.Struct<Fields>["Type"]> => {
  type Row = Schema.Struct<Fields>["Type"]
  const { columns, decode, fields } = selection(schema, expressionOf)
  const names = Object.keys(long)
  const share = Math.floor(limits.page_bytes_max / (limits.page_size_max + 1) / names.length)
  const { columns: short_columns } = selection(
    schema,
    (field) => long[field] === undefined ? expressionOf(field) : shortened(expressionOf(field), long[field], share)
  )
  const places = names.map((name) => fields.indexOf(name))
  // An empty text that is not a shortened one causes a second statement, too.
  const isShortened = (values: ReadonlyArray<unknown>): boolean => places.some((place) => values[place] === "")

  const length = Object.entries(long).map(([name, type]) => `coalesce(${lengthOf(name, type)}, 0)`).join(" + ")
  const order = `ORDER BY ${time} DESC, id DESC`

  /** Selects the first rows of a page, up to the limit, and how many the page has without it. */
  const fitting = (sql: SqlClient.SqlClient, { has_matches = false, statementOf }: Wanted) =>
    sql`
      SELECT ${sql.literal(fields.join(", "))}, total, ${sql.literal(has_matches ? "is_match" : "true AS is_match")}
      FROM (
        SELECT page.*, sum(${sql.literal(length)}) OVER listed AS bytes, row_number() OVER listed AS number,
          (count(*) OVER ())::int AS total
        FROM (${statementOf(columns)}) page
        WINDOW listed AS (${sql.literal(order)} ROWS UNBOUNDED PRECEDING)
      ) page
      WHERE bytes <= ${sql.literal(String(limits.page_bytes_max))} OR number = 1
      ${sql.literal(order)}
    `

  const page = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, wanted: Wanted) {
    const { has_matches = false, proceed = Effect.void, statementOf } = wanted
    const short = yield* statementOf(short_columns).values
    const isShort = !short.some(isShortened)
    const found = isShort
      ? short
      : yield* turns.run(wanted.organization_id, Effect.andThen(proceed, fitting(sql, wanted).values))
    const [matches, others] = isShort && !has_matches
      ? [found, []]
      : [found.filter(isMatch), found.filter(Predicate.not(isMatch))]
    const rows = matches.map((values) => decode(values))
    const isCut = !isShort && found.length > 0 && found.length !== found[0]?.at(-2)
    const [end] = isCut ? rows.slice(-1) : others.map((values) => decode(values))
    return { rows, stopped_at: end === undefined ? null : positionOf(end) } satisfies Found<Row>
  })

  return { page }
}
