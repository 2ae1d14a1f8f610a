/** Imports contacts from a CSV file, and explains the lines that cannot be imported. */
import * as ErrorMapping from "@messaging-crm/adapter-http/api/ErrorMapping"
import { explain, type Explanation } from "@messaging-crm/adapter-http/middleware/SchemaIssues"
import { batch_size, ContactImports, type RowRejection, type UpsertKey } from "@messaging-crm/core/ContactImports"
import type { ImportTable } from "@messaging-crm/core/ContactTable"
import { limits } from "@messaging-crm/core/Limits"
import { Data, Effect, Option, Result, Sink, Stream } from "effect"
import * as Csv from "./Csv.ts"

/** A line that was not imported. */
export interface BadLine extends Explanation {
  readonly line: number
}

/** The outcome of one batch of lines. */
export interface BatchOutcome {
  readonly created: number
  readonly unchanged: number
  readonly updated: number
  readonly bad: ReadonlyArray<BadLine>
}

/** The file has no header line. */
export class FileEmpty extends Data.TaggedError("FileEmpty")<{}> {}

const explainRejection = (rejected: RowRejection): Explanation => {
  switch (rejected._tag) {
    case "SchemaError":
      return explain(rejected.issue)
    case "TagUnknown":
      return {
        param: "tags",
        message: `tags: No tag is named "${rejected.name}". Create it, or remove it from the line.`
      }
    case "KeyMissing":
      return {
        param: rejected.column,
        message: `${rejected.column} is required because it is the key. Fill the cell.`
      }
    case "TextBroken":
      return { param: rejected.column, message: `${rejected.column} is not text in UTF-8.` }
    case "CellsMismatch":
      return {
        param: null,
        message: `Cells in the line: ${rejected.cells}. Columns in the file: ${rejected.columns}.`
      }
    default:
      return ErrorMapping.rejectionText(rejected)
  }
}

/** Explains a bad line with the file's own column names. */
const explainLine = (table: ImportTable, line: number, rejected: RowRejection): BadLine => {
  const { message, param } = explainRejection(rejected)
  const column = table.columns.find((one) => one.param === param)
  return param === null || column === undefined
    ? { line, param, message }
    : { line, param: column.name, message: message.replace(param, column.name) }
}

const importBatch = Effect.fnUntraced(
  function*(table: ImportTable, update: UpsertKey | null, rows: ReadonlyArray<Csv.Row>) {
    const all = rows.map(({ cells }) => cells)
    const results: ReadonlyArray<Result.Result<string, RowRejection>> = yield* ContactImports.use((imports) =>
      update === null ? imports.addRows(table, all) : imports.upsertRows(table, update, all)
    )
    const counted = (wanted: string) =>
      results.filter((result) => Result.isSuccess(result) && result.success === wanted).length
    const bad = rows.flatMap(({ line }, index) => {
      const result = results[index]
      return result !== undefined && Result.isFailure(result) ? [explainLine(table, line, result.failure)] : []
    })
    return {
      created: counted("created"),
      unchanged: counted("unchanged"),
      updated: counted("updated"),
      bad
    } satisfies BatchOutcome
  }
)

export interface ImportOptions {
  readonly delimiter: Option.Option<Csv.Delimiter>
  readonly key: string | null
  /** The key by which existing contacts are updated; null to leave them as they are. */
  readonly update: UpsertKey | null
}

/** Opens a CSV file with contacts. Returns a stream that imports them, with the outcome of each batch of lines. */
export const importCsv = Effect.fnUntraced(function*<E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  options: ImportOptions
) {
  const [header, rows] = yield* Stream.peel(Csv.rows(bytes, options.delimiter), Sink.head<Csv.Row>())
  if (Option.isNone(header)) return yield* new FileEmpty()
  const table = yield* ContactImports.use((imports) => imports.open(header.value.cells, options.key))
  const { update } = options
  return rows.pipe(
    Stream.grouped(update === null ? batch_size : limits.upsert_contacts_max),
    Stream.mapEffect((batch) => importBatch(table, update, batch))
  )
})
