/** Imports contacts from a CSV file, and explains the lines that cannot be imported. */
import * as ErrorMapping from "@messaging-crm/adapter-http/api/ErrorMapping"
import { explain, type Explanation } from "@messaging-crm/adapter-http/middleware/SchemaIssues"
import {
  batch_size,
  ContactImports,
  type ImportMode,
  makePreview,
  type RowRejection,
  type UpsertKey
} from "@messaging-crm/core/ContactImports"
import type { ImportTable } from "@messaging-crm/core/ContactTable"
import { limits } from "@messaging-crm/core/Limits"
import { Array, Data, Effect, Option, Result, Sink, Stream } from "effect"
import * as Csv from "./Csv.ts"
import {
  type CellUnnamed,
  type ColumnMap,
  columnRead,
  error_column,
  fieldNamed,
  mapColumns,
  type Mapping,
  readCells,
  yearlessBirthday
} from "./ImportColumns.ts"

/** A line that was not imported, or not completely. */
export interface BadLine extends Explanation {
  readonly line: number
}

/** A line that was not imported, and its cells. */
interface BadRow extends BadLine {
  readonly cells: ReadonlyArray<string>
}

/** The outcome of one batch of lines. */
export interface BatchOutcome {
  readonly created: number
  readonly unchanged: number
  readonly updated: number
  /** How many of the bad lines would create a contact with the phone or email of another. */
  readonly duplicates: number
  readonly bad: ReadonlyArray<BadRow>
  /** The values that were not imported with their lines. */
  readonly left_out: ReadonlyArray<BadLine>
}

/** The file has no header line. */
export class FileEmpty extends Data.TaggedError("FileEmpty")<{}> {}

export interface ImportOptions {
  readonly delimiter: Option.Option<Csv.Delimiter>
  readonly key: string | null
  /** The key by which existing contacts are updated; null to leave them as they are. */
  readonly update: UpsertKey | null
  /** The fields that the user has chosen for columns. */
  readonly maps: ReadonlyArray<ColumnMap>
  /** Whether a line can create a contact with the phone or email of another contact. */
  readonly allows_duplicates: boolean
  readonly is_dry_run: boolean
}

/** An opened file. */
interface Opened {
  readonly table: ImportTable
  readonly mapping: Mapping
  readonly update: UpsertKey | null
  readonly mode: ImportMode
}

type LineRejection = RowRejection | CellUnnamed

const explainRejection = (rejected: LineRejection, update: UpsertKey | null): Explanation => {
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
      return {
        param: rejected.column,
        message: `${rejected.column} is not text in UTF-8. Save the file as CSV UTF-8.`
      }
    case "CellsMismatch":
      return {
        param: null,
        message: `Cells in the line: ${rejected.cells}. Columns in the file: ${rejected.columns}.`
      }
    case "CellUnnamed":
      return {
        param: null,
        message:
          `Column ${rejected.position} has a value, but no name in the header. Name the column, or empty the cell.`
      }
    case "ContactExists":
      return {
        param: rejected.field,
        message: update === null
          ? `${rejected.field} belongs to another contact or an earlier line. Use --update --key ${rejected.field} to update it, or --yes to create a second contact.`
          : `${rejected.field} belongs to a contact or an earlier line with another ${update}. Use --yes to create a second contact.`
      }
    default:
      return ErrorMapping.rejectionText(rejected)
  }
}

/** Explains a bad line with the file's own column names. */
const explainLine = ({ mapping, table, update }: Opened, { cells, line }: Csv.Row, rejected: LineRejection): BadRow => {
  const { message, param } = explainRejection(rejected, update)
  const index = table.columns.findIndex((one) => param !== null && (one.param === param || one.name === param))
  const field = mapping.fields[index]
  if (param === null || field === undefined) return { line, cells, param, message }
  const column = columnRead(mapping, field, cells)
  return { line, cells, param: column, message: message.replace(param, () => column) }
}

/** Explains the value that is not imported with a line. */
const explainLeftOut = ({ mapping }: Opened, { cells, line }: Csv.Row): ReadonlyArray<BadLine> => {
  const left_out = yearlessBirthday(mapping, cells)
  if (left_out === null) return []
  const { column, text } = left_out
  return [{ line, param: column, message: `${column} was left out because it has no year: "${text}".` }]
}

const importBatch = Effect.fnUntraced(function*(opened: Opened, rows: ReadonlyArray<Csv.Row>) {
  const read = rows.map(({ cells }) => readCells(opened.mapping, cells))
  const { mode, table, update } = opened
  const cells = Array.getSuccesses(read)
  const imported: ReadonlyArray<Result.Result<string, RowRejection>> = yield* ContactImports.use((imports) =>
    update === null ? imports.addRows(table, cells, mode) : imports.upsertRows(table, update, cells, mode)
  )
  let next = 0
  const results = read.map((cells): Result.Result<string, LineRejection> =>
    Result.isFailure(cells) ? Result.fail(cells.failure) : Array.getUnsafe(imported, next++)
  )
  const counted = (wanted: string) =>
    results.filter((result) => Result.isSuccess(result) && result.success === wanted).length
  return {
    created: counted("created"),
    unchanged: counted("unchanged"),
    updated: counted("updated"),
    duplicates: Array.getFailures(results).filter(({ _tag }) => _tag === "ContactExists").length,
    bad: rows.flatMap((row, index) => {
      const result = Array.getUnsafe(results, index)
      return Result.isFailure(result) ? [explainLine(opened, row, result.failure)] : []
    }),
    left_out: rows.flatMap((row, index) =>
      Result.isSuccess(Array.getUnsafe(results, index)) ? explainLeftOut(opened, row) : []
    )
  } satisfies BatchOutcome
})

/** Bad lines as the file has them, with the reason in one more column. */
export interface BadLines {
  /** The beginning of the file of bad lines. */
  readonly header: string
  readonly line: (row: BadRow) => string
}

const makeBadLines = (format: Csv.Format, header: Csv.Row): BadLines => {
  const width = header.cells.length
  // A file of bad lines has the column already.
  const own = header.cells.findIndex((cell) => cell.trim() === error_column)
  const withReason = (cells: ReadonlyArray<string>, reason: string) => {
    const known = Array.makeBy(width, (index) => index === own ? reason : cells[index] ?? "")
    if (own < 0) known.push(reason)
    return Csv.written(format, [...known, ...cells.slice(width).filter((cell) => cell.trim() !== "")])
  }
  return {
    header: format.opening + withReason(header.cells, error_column),
    line: ({ cells, line, message }: BadRow) => withReason(cells, `line ${line}: ${message}`)
  }
}

/** Opens a CSV file with contacts. Returns a stream that imports them, with the outcome of each batch of lines. */
export const importCsv = Effect.fnUntraced(function*<E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  { allows_duplicates, delimiter, is_dry_run, key, maps, update }: ImportOptions
) {
  const { format, rows: all } = yield* Csv.open(bytes, delimiter)
  const [header, rows] = yield* Stream.peel(all, Sink.head<Csv.Row>())
  if (Option.isNone(header)) return yield* new FileEmpty()
  const mapping = yield* mapColumns(header.value, maps)
  const fields = mapping.fields.map(({ field }) => field)
  const table = yield* ContactImports.use((imports) =>
    imports.open(fields, key === null ? null : fieldNamed(mapping, key))
  )
  const mode: ImportMode = { allows_duplicates, preview: is_dry_run ? makePreview() : null }
  const opened: Opened = { mapping, mode, table, update }
  const batches = rows.pipe(
    Stream.grouped(update === null ? batch_size : limits.upsert_contacts_max),
    Stream.mapEffect((batch) => importBatch(opened, batch))
  )
  return { badLines: makeBadLines(format, header.value), batches, mapping }
})
