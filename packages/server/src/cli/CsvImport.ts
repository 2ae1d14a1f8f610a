/** Imports contacts from a CSV file, and explains the lines that cannot be imported. */
import * as ErrorMapping from "@messaging-crm/adapter-http/handlers/ErrorMapping"
import { explain, type Explanation } from "@messaging-crm/adapter-http/middleware/SchemaIssues"
import { batch_size, ContactImports, type RowRefused } from "@messaging-crm/core/ContactImports"
import type { Table } from "@messaging-crm/core/ContactTable"
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
  readonly bad: ReadonlyArray<BadLine>
}

/** The file has no header line. */
export class FileEmpty extends Data.TaggedError("FileEmpty")<{}> {}

/** Returns the explanation that the API would answer with. */
const asAnswered = (refusal: Effect.Effect<never, { readonly error: Explanation }>) =>
  Effect.map(Effect.flip(refusal), ({ error: { message, param } }): Explanation => ({ message, param }))

const explainRefusal = (refused: RowRefused): Effect.Effect<Explanation> => {
  switch (refused._tag) {
    case "SchemaError":
      return Effect.succeed(explain(refused.issue))
    case "ContactUnnamed":
      return asAnswered(ErrorMapping.contactUnnamed())
    case "ReferenceUnknown":
      return asAnswered(ErrorMapping.referenceUnknown(refused))
    case "CustomValueInvalid":
      return asAnswered(ErrorMapping.customValueInvalid(refused))
    case "TagUnknown":
      return Effect.succeed({ param: "tags", message: `tags: No tag has the name "${refused.name}".` })
    case "KeyMissing":
      return Effect.succeed({ param: refused.column, message: `${refused.column} is required: it is the key.` })
    case "TextBroken":
      return Effect.succeed({ param: refused.column, message: `${refused.column} is not text in UTF-8.` })
    case "CellsMismatch":
      return Effect.succeed({ param: null, message: `${refused.cells} cells under ${refused.columns} columns.` })
  }
}

/** Explains a bad line with the file's own column names. */
const explainLine = (table: Table, line: number, refused: RowRefused) =>
  Effect.map(explainRefusal(refused), ({ message, param }): BadLine => {
    const column = table.columns.find((one) => one.param === param)
    return param === null || column === undefined
      ? { line, param, message }
      : { line, param: column.name, message: message.replace(param, column.name) }
  })

const importBatch = Effect.fnUntraced(function*(table: Table, rows: ReadonlyArray<Csv.Row>) {
  const results = yield* ContactImports.use((imports) => imports.addRows(table, rows.map(({ cells }) => cells)))
  const outcomes = results.flatMap((result) => Result.isSuccess(result) ? [result.success] : [])
  const created = outcomes.filter((outcome) => outcome === "created").length
  const bad = yield* Effect.forEach(rows, ({ line }, index) => {
    const result = results[index]
    return result !== undefined && Result.isFailure(result)
      ? Effect.asSome(explainLine(table, line, result.failure))
      : Effect.succeedNone
  })
  return { created, unchanged: outcomes.length - created, bad: bad.flatMap(Option.toArray) } satisfies BatchOutcome
})

/** Imports the contacts of a CSV file. Returns a stream with the outcome of each batch of lines. */
export const importCsv = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  options: { readonly delimiter: Option.Option<Csv.Delimiter>; readonly key: string | null }
) =>
  Stream.unwrap(Effect.gen(function*() {
    const [header, rows] = yield* Stream.peel(Csv.rows(bytes, options.delimiter), Sink.head<Csv.Row>())
    if (Option.isNone(header)) return yield* new FileEmpty()
    const table = yield* ContactImports.use((imports) => imports.open(header.value.cells, options.key))
    return rows.pipe(Stream.grouped(batch_size), Stream.mapEffect((batch) => importBatch(table, batch)))
  }))
