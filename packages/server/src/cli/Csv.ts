/** Streams the rows of CSV files. A file is never in memory as a whole. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { type Options, parse } from "csv-parse"
import { Data, Effect, Option, Sink, Stream } from "effect"

export interface Row {
  /** The line of the file that the row begins on. A quoted cell may hold line breaks. */
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

/** A row does not end within the size limit. Most likely a quote is not closed. */
export class RowEndless extends Data.TaggedError("RowEndless")<{ readonly line: number }> {}

/** The maximum length of a row, more than any contact needs. */
const row_chars_max = 1_048_576

/** The supported delimiters by name. */
export const delimiters = { comma: ",", semicolon: ";", tab: "\t" } as const
export type Delimiter = keyof typeof delimiters

const isLineBreak = (byte: number): boolean => byte === 10 || byte === 13

/** Reads up to the end of the first line. */
const untilLineBreak = Sink.fold(
  () => Buffer.alloc(0),
  (read: Buffer) => read.length < row_chars_max && !read.some(isLineBreak),
  (read, chunk: Uint8Array) => Effect.succeed(Buffer.concat([read, chunk]))
)

/** Returns the most frequent delimiter of the first line. That line holds column names, which contain no delimiters. */
const delimiterOf = (beginning: Buffer): string => {
  const end = beginning.findIndex(isLineBreak)
  const line = beginning.toString("utf8", 0, end < 0 ? beginning.length : end)
  const counted = Object.values(delimiters).map((delimiter) => ({ delimiter, count: line.split(delimiter).length }))
  return counted.reduce((most, next) => next.count > most.count ? next : most).delimiter
}

/** Returns how many lines a row takes. The parser's own count is wrong after a quoted `\r\n`. */
const heightOf = (cells: ReadonlyArray<string>): number =>
  cells.reduce((lines, cell) => lines + (cell.match(/\r\n|\n|\r/g)?.length ?? 0), 1)

const isBlank = (cells: ReadonlyArray<string>): boolean => cells.every((cell) => cell.trim() === "")

// With relaxed quotes, a quote in the middle of a cell does not swallow the rows after it.
const settings = {
  bom: true,
  max_record_size: row_chars_max,
  record_delimiter: ["\r\n", "\n", "\r"],
  relax_column_count: true,
  relax_quotes: true
} satisfies Options

const parsed = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  delimiter: string
): Stream.Stream<Row, E | RowEndless, R> =>
  Stream.suspend(() => {
    let next = 1
    const options: Options<Row, Array<string>> = {
      ...settings,
      delimiter,
      on_record: (cells) => {
        const line = next
        next += heightOf(cells)
        return isBlank(cells) ? null : { line, cells }
      }
    }
    return NodeStream.pipeThroughDuplex(bytes, {
      // The types of `parse` allow records that are not lists of cells only with named columns.
      evaluate: () => parse(options as unknown as Options),
      onError: () => new RowEndless({ line: next })
    })
  })

/** Returns the rows of a file, without blank ones. Without a delimiter, it is detected from the first line. */
export const rows = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  delimiter: Option.Option<Delimiter>
): Stream.Stream<Row, E | RowEndless, R> =>
  Stream.peel(bytes, untilLineBreak).pipe(
    Effect.map(([beginning, rest]) =>
      parsed(
        Stream.concat(Stream.make(beginning), rest),
        Option.match(delimiter, { onSome: (name) => delimiters[name], onNone: () => delimiterOf(beginning) })
      )
    ),
    Stream.unwrap
  )
