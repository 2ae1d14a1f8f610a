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
export const delimiters = { comma: ",", semicolon: ";", tab: "\t", pipe: "|" } as const
export type Delimiter = keyof typeof delimiters

/** Returns the decoder of a file that a byte order mark declares as UTF-16, as Excel and Outlook write it. */
const utf16 = ([one, other]: Uint8Array): TextDecoder | null =>
  one === 0xff && other === 0xfe
    ? new TextDecoder("utf-16le")
    : one === 0xfe && other === 0xff
    ? new TextDecoder("utf-16be")
    : null

/** Reads until the byte order mark is complete. */
const untilMark = Sink.fold(
  () => Buffer.alloc(0),
  (read: Buffer) => read.length < 3,
  (read, chunk: Uint8Array) => Effect.succeed(Buffer.concat([read, chunk]))
)

const inUtf8 = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>, decoder: TextDecoder): Stream.Stream<Uint8Array, E, R> =>
  Stream.concat(
    Stream.map(bytes, (chunk) => Buffer.from(decoder.decode(chunk, { stream: true }))),
    Stream.suspend(() => Stream.make(Buffer.from(decoder.decode())))
  )

/** The beginning of a file: the line that names the delimiter, as Excel reads it, and the line of the header. */
const opening =
  /^(?<mark>\uFEFF?)(?:(?<named>"?sep=(?<delimiter>\\t|[^\r\n"])"?[,;\t]*(?:\r\n|\n|\r))|(?!"?sep=[^\r\n]))(?:[^\S\r\n]*[\r\n])*(?<header>[^\r\n]+)?(?<end>\r\n|\n|\r(?=[^\n]))?/i

const openingOf = (read: Buffer) => opening.exec(read.toString())?.groups ?? {}

/** Reads up to the end of the header's first line. */
const untilHeader = Sink.fold(
  () => Buffer.alloc(0),
  (read: Buffer) => read.length < row_chars_max && openingOf(read)["end"] === undefined,
  (read, chunk: Uint8Array) => Effect.succeed(Buffer.concat([read, chunk]))
)

/** Returns the most frequent delimiter of a header's line, outside of quotes. */
const delimiterOf = (header: string): string => {
  const line = header.replace(/"(?:[^"]|"")*"/g, "")
  const counted = Object.values(delimiters).map((delimiter) => ({ delimiter, count: line.split(delimiter).length }))
  return counted.reduce((most, next) => next.count > most.count ? next : most).delimiter
}

/** How the lines of a file are written. */
export interface Format {
  /** The text before the header: a byte order mark, and the line that names the delimiter. */
  readonly opening: string
  readonly delimiter: string
  readonly quotes_all: boolean
  readonly line_end: string
}

/** Returns a line with the given cells. */
export const written = ({ delimiter, line_end, quotes_all }: Format, cells: ReadonlyArray<string>): string =>
  cells.map((cell) =>
    quotes_all || cell.includes(delimiter) || /["\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll("\"", "\"\"")}"` : cell
  ).join(delimiter) + line_end

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
  delimiter: string,
  first_line: number
): Stream.Stream<Row, E | RowEndless, R> =>
  Stream.suspend(() => {
    let next = first_line
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

/** A file: how it is written, and its rows without blank ones. */
export interface Sheet<E, R> {
  readonly format: Format
  readonly rows: Stream.Stream<Row, E | RowEndless, R>
}

/** Opens a file in UTF-8 or UTF-16. Without a delimiter, it is that of a first line such as `sep=;`, or of the header. */
export const open = Effect.fnUntraced(function*<E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  delimiter: Option.Option<Delimiter>
) {
  const [mark, unmarked] = yield* Stream.peel(bytes, untilMark)
  const all = Stream.concat(Stream.make(mark), unmarked)
  const decoder = utf16(mark)
  const [beginning, rest] = yield* Stream.peel(decoder === null ? all : inUtf8(all, decoder), untilHeader)
  const found = openingOf(beginning)
  const { end = "\n", header = "", mark: bom = "", named = "" } = found
  const own = found["delimiter"]?.replace("\\t", "\t") ?? delimiterOf(header)
  const format: Format = {
    opening: `${decoder === null ? bom : "\uFEFF"}${named}`,
    delimiter: Option.match(delimiter, { onSome: (name) => delimiters[name], onNone: () => own }),
    quotes_all: header.startsWith("\""),
    line_end: end
  }
  const content = beginning.subarray(Buffer.byteLength(named === "" ? "" : bom + named))
  const sheet: Sheet<E, R> = {
    format,
    rows: parsed(Stream.concat(Stream.make(content), rest), format.delimiter, named === "" ? 1 : 2)
  }
  return sheet
})
