/** The report of an import of contacts: counts, reasons why lines were not imported, and the meaning of the columns. */
import { Option } from "effect"
import type { BadLine, BatchOutcome } from "./CsvImport.ts"
import type { Mapping, Source } from "./ImportColumns.ts"
import { oneLine } from "./Visible.ts"

/** Why some lines were not imported. */
interface Reason extends Pick<BadLine, "message" | "param"> {
  readonly count: number
  /** The first of these lines. */
  readonly lines: ReadonlyArray<number>
}

/** How an import went. */
export interface Summary {
  readonly created: number
  readonly unchanged: number
  /** How many lines were not imported, those of `duplicates` included. */
  readonly failed: number
  readonly updated: number
  /** How many lines would have created a contact with the phone or email of another. */
  readonly duplicates: number
  /** The first lines that were not imported. */
  readonly errors: ReadonlyArray<BadLine>
  /** Why lines were not imported, most frequent first. Of many reasons, the later ones are left out. */
  readonly reasons: ReadonlyArray<Reason>
  /** How many values were not imported with their lines. */
  readonly left_out: number
  /** The first of these values. */
  readonly warnings: ReadonlyArray<BadLine>
}

export const errors_max = 100
const lines_max = 5
const reasons_max = 50

export const nothing: Summary = {
  created: 0,
  unchanged: 0,
  failed: 0,
  updated: 0,
  duplicates: 0,
  errors: [],
  reasons: [],
  left_out: 0,
  warnings: []
}

const plusReason = (reasons: ReadonlyArray<Reason>, { line, message, param }: BadLine): ReadonlyArray<Reason> => {
  const known = reasons.find((reason) => reason.message === message)
  if (known === undefined) {
    return reasons.length === reasons_max ? reasons : [...reasons, { param, message, count: 1, lines: [line] }]
  }
  const { count, lines } = known
  const more = { ...known, count: count + 1, lines: lines.length === lines_max ? lines : [...lines, line] }
  return reasons.map((reason) => reason === known ? more : reason)
}

/** Adds the outcome of a batch. */
export const plus = (
  summary: Summary,
  { bad, created, duplicates, left_out, unchanged, updated }: BatchOutcome
): Summary => ({
  created: summary.created + created,
  unchanged: summary.unchanged + unchanged,
  failed: summary.failed + bad.length,
  updated: summary.updated + updated,
  duplicates: summary.duplicates + duplicates,
  errors: [...summary.errors, ...bad.map(({ line, message, param }) => ({ line, param, message }))].slice(
    0,
    errors_max
  ),
  reasons: bad.reduce(plusReason, summary.reasons).toSorted((a, b) => b.count - a.count),
  left_out: summary.left_out + left_out.length,
  warnings: [...summary.warnings, ...left_out].slice(0, errors_max)
})

/** Returns the numbers of lines, of which each is counted once. */
export const counts = ({ created, duplicates, failed, unchanged, updated }: Summary): string =>
  [
    `${created} created`,
    ...(updated > 0 ? [`${updated} updated`] : []),
    `${unchanged} unchanged`,
    ...(duplicates > 0 ? [`${duplicates} duplicates of other contacts`] : []),
    `${failed - duplicates} invalid`
  ].join(", ")

const wordsOf = ({ line, message }: BadLine): string => `line ${line}: ${oneLine(message)}`

const reasonWords = ({ count, lines, message }: Reason): string =>
  `${count} ${count === 1 ? "line" : "lines"} (${lines.join(", ")}${count > lines.length ? ", …" : ""}): ${
    oneLine(message)
  }`

/** Returns the first values that were left out and bad lines, and the reasons with counts if several lines have the same. */
export const errorWords = ({ errors, failed, left_out, reasons, warnings }: Summary): ReadonlyArray<string> => [
  ...warnings.map(wordsOf),
  ...(left_out > warnings.length
    ? [`${left_out} values were left out, of which the first ${errors_max} are listed.`]
    : []),
  ...errors.map(wordsOf),
  ...(failed > reasons.length ? ["Reasons:", ...reasons.map((reason) => `  ${reasonWords(reason)}`)] : [])
]

const sourceWords = (sources: ReadonlyArray<Source>): string => sources.map(({ name }) => oneLine(name)).join(", else ")

/** The meaning of the columns in JSON: each field with its columns, the first non-empty of which counts. */
export const mappingJson = ({ fields, format, full_name, ignored }: Mapping) => ({
  format,
  fields: Object.fromEntries(
    fields.map(({ field, sources }) => [
      field,
      (field === "first_name" ? [...sources, ...full_name] : sources).map(({ name }) => name)
    ])
  ),
  ignored
})

/** Returns the meaning of the columns; nothing if each is named after its field. */
export const mappingWords = ({ fields, format, full_name, ignored }: Mapping): ReadonlyArray<string> => {
  const isPlain = ignored.length === 0 && full_name.length === 0 &&
    fields.every(({ field, sources }) => sources.every(({ name }) => name === field))
  if (isPlain) return []
  return [
    `Columns${format === null ? "" : ` (${format} export)`}:`,
    ...fields.flatMap(({ field, sources }) => sources.length === 0 ? [] : [`  ${field}: ${sourceWords(sources)}`]),
    ...(full_name.length === 0 ? [] : [`  first_name of lines without another name: ${sourceWords(full_name)}`]),
    ...(ignored.length === 0 ? [] : [`  ignored: ${ignored.map(oneLine).join(", ")}`])
  ]
}

const minutes = (seconds: number): string => seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`

/** Returns the counts so far, the rate, and the time left. `part` is the part of the file that has been read, if known. */
export const progressWords = (summary: Summary, seconds: number, part: Option.Option<number>): string => {
  const done = summary.created + summary.updated + summary.unchanged + summary.failed
  const rate = seconds > 0 ? `, ${Math.round(done / seconds)} lines/s` : ""
  const left = Option.match(part, {
    onNone: () => "",
    onSome: (read) => read > 0 && read < 1 ? `, ${minutes(seconds * (1 - read) / read)} left` : ""
  })
  return counts(summary) + rate + left
}
