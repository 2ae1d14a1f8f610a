/** Finds the fields that the columns of a file set, and reads the lines of the file as these fields. */
import { WritableContact } from "@messaging-crm/core/Contacts"
import { Data, Effect, Result } from "effect"
import { firstValue, isYearless, nameKey, plainText, readers } from "./CellTexts.ts"
import { type ContactExport, type ExportColumns, exports, spreadsheet } from "./ContactExports.ts"
import type * as Csv from "./Csv.ts"
import { quoted } from "./Print.ts"

/** The column with the reason why a line was not imported. An import ignores it. */
export const error_column = "import_error"

// -------------------------------------------------------------- errors

/** No field is known for some columns. `is_header` is false if no column of the line is known: it can be a title. */
export class ColumnsUnknown extends Data.TaggedError("ColumnsUnknown")<{
  readonly line: number
  readonly columns: ReadonlyArray<string>
  readonly is_header: boolean
  /** The sentence that lists the fields that a column can set. */
  readonly fields: string
}> {}

/** Columns with one name set a field. */
export class ColumnsDuplicated extends Data.TaggedError("ColumnsDuplicated")<{
  readonly columns: ReadonlyArray<string>
}> {}

/** `--map` names a column or a field that does not exist. */
export class MapInvalid extends Data.TaggedError("MapInvalid")<{ readonly message: string }> {}

/** A line has a value in a column that the header does not name. */
export class CellUnnamed extends Data.TaggedError("CellUnnamed")<{ readonly position: number }> {}

// ---------------------------------------------------------------- data

/** A column of the file, from which a field is read. */
export interface Source {
  readonly index: number
  readonly name: string
  /** Whether a cell can hold several values, of which the first counts. */
  readonly holds_several: boolean
}

/** A field of contacts, and the columns that can set it: the first non-empty cell wins. */
export interface MappedField {
  readonly field: string
  readonly sources: ReadonlyArray<Source>
}

/** The meaning of a file's columns. */
export interface Mapping {
  /** The program whose export the file is; null if it is any other list. */
  readonly format: string | null
  readonly fields: ReadonlyArray<MappedField>
  /** The columns that set `first_name` if a line has no other name. */
  readonly full_name: ReadonlyArray<Source>
  readonly ignored: ReadonlyArray<string>
  /** Whether the header names the column at a position. */
  readonly is_named: ReadonlyArray<boolean>
}

/** A column, and the field that the user has chosen for it; null to ignore it. */
export interface ColumnMap {
  readonly column: string
  readonly field: string | null
}

// ---------------------------------------------------------- the header

const custom_value = /^custom_values\../

const field_names: ReadonlySet<string> = new Set(
  [...Object.keys(WritableContact.fields).filter((name) => name !== "custom_values"), "tags"]
)

const field_sentence = `The fields are ${Array.from(field_names).join(", ")}, and custom_values.KEY.`

const isField = (name: string): boolean => field_names.has(name) || custom_value.test(name)

const byKey = new Map(Array.from(field_names, (name) => [nameKey(name), name]))

/** Returns the key of a column, by which it is found in tables and by `--map`. Keys of custom fields are exact. */
const keyOf = (name: string): string => custom_value.test(name) ? name : nameKey(name) || name

/** Returns a key with `#` for its numbers. */
const numbered = (key: string): string => key.replace(/\d+/g, "#")

/** The lines of a table by their keys. */
type Table = ReadonlyMap<string, { readonly field: string | null; readonly line: number }>

const tableOf = (columns: ExportColumns): Table =>
  new Map(
    Object.entries(columns).map(([name, field], line) => [name.split("#").map(nameKey).join("#"), { field, line }])
  )

const spreadsheet_table = tableOf(spreadsheet)

/** A column of the header. */
interface Column {
  readonly index: number
  readonly name: string
  readonly key: string
}

/** The field of a column. The column with the lowest rank is read first. */
interface Target {
  readonly field: string | null
  readonly rank: number
}

const columnsOf = ({ cells }: Csv.Row): ReadonlyArray<Column> =>
  cells.flatMap((cell, index) => {
    const name = plainText(cell)
    return name === "" ? [] : [{ index, name, key: keyOf(name) }]
  })

/** Returns the program whose export has these columns. */
const recognize = (columns: ReadonlyArray<Column>): ContactExport | null => {
  const keys = new Set(columns.flatMap(({ key }) => [key, numbered(key)]))
  const has = (sign: string) => keys.has(sign.split("#").map(nameKey).join("#"))
  return exports.find(({ signs }) => signs.some((sign) => sign.every(has))) ?? null
}

/** The time zone that HubSpot writes after the name of a time: `Create Date (CET)`. */
const time_zone = /[ _]*\((?:[A-Z]{2,3}T|UTC|(?:GMT|UTC)?[+-]\d{1,2}(?::?\d{2})?)\)$/i

/** Ranks lines of a table after those of earlier tables, and numbered columns by their numbers. */
const ranked = (place: number, line: number, key: string): number =>
  place * 1e9 + line * 1e4 + Math.min(Number(/\d+/.exec(key)?.[0] ?? 0), 9999)

const lookUp = (table: Table, place: number, key: string): Target | undefined => {
  const found = table.get(key) ?? table.get(numbered(key))
  return found === undefined ? undefined : { field: found.field, rank: ranked(place, found.line, key) }
}

/** Makes the function that returns the field of a column; undefined if it is not known. */
const makeTarget = (recognized: ContactExport | null, maps: ReadonlyArray<ColumnMap>) => {
  const exported = recognized === null ? null : tableOf(recognized.columns)
  return ({ key, name }: Column): Target | undefined => {
    const chosen = maps.findIndex(({ column }) => keyOf(column) === key)
    if (chosen >= 0) return { field: maps[chosen]?.field ?? null, rank: ranked(0, chosen, "") }
    if (key === nameKey(error_column)) return { field: null, rank: 0 }
    const own = exported === null ? undefined : lookUp(exported, 1, key)
    if (own !== undefined) return own
    const time = exported === null || !time_zone.test(name)
      ? undefined
      : exported.get(keyOf(name.replace(time_zone, "")))
    // Times set nothing. A name that only looks like one is unknown.
    if (time?.field === null) return { field: null, rank: 0 }
    const field = isField(name) ? name : byKey.get(key)
    return field === undefined ? lookUp(spreadsheet_table, 3, key) : { field, rank: ranked(2, 0, "") }
  }
}

/** Reads the value of `--map`: a column, `=`, and a field, or no field to ignore the column. */
export const readMap = (text: string): Result.Result<ColumnMap, MapInvalid> => {
  const at = text.lastIndexOf("=")
  const column = text.slice(0, at).trim()
  const field = text.slice(at + 1).trim()
  if (at < 0 || column === "") {
    return Result.fail(
      new MapInvalid({ message: `--map must be "COLUMN=FIELD", or "COLUMN=" to ignore a column, not "${text}".` })
    )
  }
  return field === "" || isField(field)
    ? Result.succeed({ column, field: field === "" ? null : field })
    : Result.fail(
      new MapInvalid({
        message: `--map "${text}": "${field}" is not a field. ${field_sentence}`
      })
    )
}

const requireColumns = (columns: ReadonlyArray<Column>, maps: ReadonlyArray<ColumnMap>) => {
  const absent = maps.find(({ column }) => columns.every(({ key }) => key !== keyOf(column)))
  return absent === undefined ? Result.void : Result.fail(
    new MapInvalid({
      message: `--map: The file has no column "${absent.column}". Its columns: ${
        quoted(columns.map(({ name }) => name))
      }.`
    })
  )
}

/** A column with its field. */
interface Mapped extends Target {
  readonly column: Column
}

const requireDistinct = (mapped: ReadonlyArray<Mapped>) => {
  const set = mapped.filter(({ field }) => field !== null).map(({ column }) => column)
  const repeated = set.filter(({ key }, index) => set.findIndex((other) => other.key === key) < index)
  return repeated.length === 0
    ? Result.void
    : Result.fail(new ColumnsDuplicated({ columns: Array.from(new Set(repeated.map(({ name }) => name))) }))
}

/** Returns the columns of each field: the fields in the order of the file, the columns by rank. */
const fieldsOf = (mapped: ReadonlyArray<Mapped>, can_hold_several: boolean): ReadonlyArray<MappedField> =>
  Array.from(Map.groupBy(mapped, ({ field }) => field), ([field, columns]) => ({ field, columns })).flatMap((
    { columns, field }
  ) =>
    field === null ? [] : [{
      field,
      sources: columns.toSorted((a, b) => a.rank - b.rank).map(({ column: { index, key, name } }) => ({
        index,
        name,
        holds_several: can_hold_several && key !== numbered(key)
      }))
    }]
  )

/** Reads the header of a file. */
export const mapColumns = Effect.fnUntraced(function*(header: Csv.Row, maps: ReadonlyArray<ColumnMap>) {
  const columns = columnsOf(header)
  const recognized = recognize(columns)
  const targetOf = makeTarget(recognized, maps)
  const found = columns.map((column) => ({ column, target: targetOf(column) }))
  const unknown = found.flatMap(({ column, target }) => target === undefined ? [column.name] : [])
  const mapped = found.flatMap(({ column, target }) => target === undefined ? [] : [{ ...target, column }])
  const is_header = mapped.some(({ field }) => field !== null)
  if (is_header) yield* Effect.fromResult(requireColumns(columns, maps))
  if (unknown.length > 0 || !is_header) {
    return yield* new ColumnsUnknown({
      line: header.line,
      columns: is_header ? unknown : columns.map(({ name }) => name),
      is_header,
      fields: field_sentence
    })
  }
  yield* Effect.fromResult(requireDistinct(mapped))
  const all = fieldsOf(mapped, recognized !== null)
  const full_name = all.find(({ field }) => field === "full_name")?.sources ?? []
  const fields = all.filter(({ field }) => field !== "full_name")
  const mapping: Mapping = {
    format: recognized?.name ?? null,
    fields: full_name.length === 0 || fields.some(({ field }) => field === "first_name")
      ? fields
      : [{ field: "first_name", sources: [] }, ...fields],
    full_name,
    ignored: mapped.flatMap(({ column, field }) => field === null && column.name !== error_column ? [column.name] : []),
    is_named: header.cells.map((_, index) => columns.some((column) => column.index === index))
  }
  return mapping
})

/** Returns the field that a name means: the field itself, or that of a column of the file. */
export const fieldNamed = ({ fields }: Mapping, name: string): string =>
  fields.find(({ field, sources }) => field === name || sources.some((source) => keyOf(source.name) === keyOf(name)))
    ?.field ?? name

// ----------------------------------------------------------- the lines

/** The first non-empty cell of some columns. */
interface Found {
  readonly text: string
  readonly source: Source | undefined
}

const nothing: Found = { text: "", source: undefined }

const find = (sources: ReadonlyArray<Source>, cells: ReadonlyArray<string>): Found => {
  for (const source of sources) {
    const cell = plainText(cells[source.index] ?? "")
    const text = source.holds_several ? firstValue(cell) : cell
    if (text !== "") return { text, source }
  }
  return nothing
}

/** Returns the first non-empty cell for a field, and its column. */
const findField = ({ fields, full_name }: Mapping, { field, sources }: MappedField, cells: ReadonlyArray<string>) => {
  const found = find(sources, cells)
  if (found.text !== "" || field !== "first_name" || full_name.length === 0) return found
  const last_name = fields.find((other) => other.field === "last_name")
  return last_name !== undefined && find(last_name.sources, cells).text !== "" ? found : find(full_name, cells)
}

/** Returns the name of the column from which a line's field was read. */
export const columnRead = (mapping: Mapping, field: MappedField, cells: ReadonlyArray<string>): string =>
  (findField(mapping, field, cells).source ?? field.sources[0] ?? mapping.full_name[0])?.name ?? field.field

/** A value that is not imported with its line. */
export interface LeftOut {
  readonly column: string
  readonly text: string
}

/** Returns the birthday of a line if it has no year, which a date field cannot store; null otherwise. */
export const yearlessBirthday = (mapping: Mapping, cells: ReadonlyArray<string>): LeftOut | null => {
  const field = mapping.fields.find(({ field }) => field === "birthday")
  const { source, text } = field === undefined ? nothing : findField(mapping, field, cells)
  return source !== undefined && isYearless(text) ? { column: source.name, text } : null
}

/** Whether a cell is the line number that pandas writes in a first column without a name. */
const isLineNumber = (cell: string, index: number): boolean => index === 0 && /^\d+$/.test(cell)

/** Returns the values of a line, one for each field. A line can be shorter than the header, and longer by empty cells. */
export const readCells = (
  mapping: Mapping,
  cells: ReadonlyArray<string>
): Result.Result<ReadonlyArray<string>, CellUnnamed> => {
  const unnamed = cells.findIndex((cell, index) =>
    mapping.is_named[index] !== true && cell.trim() !== "" && !isLineNumber(cell, index)
  )
  if (unnamed >= 0) return Result.fail(new CellUnnamed({ position: unnamed + 1 }))
  return Result.succeed(mapping.fields.map((field) => {
    const { text } = findField(mapping, field, cells)
    return readers[field.field]?.(text) ?? text
  }))
}
