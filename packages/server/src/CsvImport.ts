/** Contacts out of a CSV file, and in words what is wrong with the lines that are none. */
import * as Refusals from "@messaging-crm/adapter-http/handlers/Refusals"
import { explain, type Explanation } from "@messaging-crm/adapter-http/middleware/SchemaIssues"
import { batch_size, ContactImports, type RowRefused } from "@messaging-crm/core/ContactImports"
import type { Table } from "@messaging-crm/core/ContactTable"
import { Data, Effect, Option, Result, Sink, Stream } from "effect"
import * as Csv from "./Csv.ts"

/** A line that was not imported. */
export interface BadLine extends Explanation {
  readonly line: number
}

/** What came of some lines. */
export interface Portion {
  readonly created: number
  readonly unchanged: number
  readonly bad: ReadonlyArray<BadLine>
}

/** There is not even a line that names the columns. */
export class FileEmpty extends Data.TaggedError("FileEmpty")<{}> {}

/** Returns what the API would say. */
const asAnswered = (refusal: Effect.Effect<never, { readonly error: Explanation }>) =>
  Effect.map(Effect.flip(refusal), ({ error: { message, param } }): Explanation => ({ message, param }))

const explainRefusal = (refused: RowRefused): Effect.Effect<Explanation> => {
  switch (refused._tag) {
    case "SchemaError":
      return Effect.succeed(explain(refused.issue))
    case "ContactUnnamed":
      return asAnswered(Refusals.contactUnnamed())
    case "ReferenceUnknown":
      return asAnswered(Refusals.referenceUnknown(refused))
    case "CustomValueInvalid":
      return asAnswered(Refusals.customValueInvalid(refused))
    case "TagUnknown":
      return Effect.succeed({ param: "tags", message: `tags: There is no tag named "${refused.name}".` })
    case "KeyMissing":
      return Effect.succeed({ param: refused.column, message: `${refused.column} is required: it is the key.` })
    case "TextBroken":
      return Effect.succeed({ param: refused.column, message: `${refused.column} is not text in UTF-8.` })
    case "CellsMismatch":
      return Effect.succeed({ param: null, message: `${refused.cells} cells under ${refused.columns} columns.` })
  }
}

/** Returns what is wrong with a line, in the words of the file: contact fields by the names of their columns. */
const explainLine = (table: Table, line: number, refused: RowRefused) =>
  Effect.map(explainRefusal(refused), ({ message, param }): BadLine => {
    const column = table.columns.find((one) => one.param === param)
    return param === null || column === undefined
      ? { line, param, message }
      : { line, param: column.name, message: message.replace(param, column.name) }
  })

const importBatch = Effect.fnUntraced(function*(table: Table, rows: ReadonlyArray<Csv.Row>) {
  const results = yield* ContactImports.use((imports) => imports.addRows(table, rows.map(({ cells }) => cells)))
  const arrivals = results.flatMap((result) => Result.isSuccess(result) ? [result.success] : [])
  const created = arrivals.filter((arrival) => arrival === "created").length
  const bad = yield* Effect.forEach(rows, ({ line }, index) => {
    const result = results[index]
    return result !== undefined && Result.isFailure(result)
      ? Effect.asSome(explainLine(table, line, result.failure))
      : Effect.succeedNone
  })
  return { created, unchanged: arrivals.length - created, bad: bad.flatMap(Option.toArray) } satisfies Portion
})

/** Imports the contacts of a CSV file, and tells portion by portion what came of its lines. */
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
