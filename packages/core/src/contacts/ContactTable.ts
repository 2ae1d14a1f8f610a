/**
 * Reads contacts from the rows of a table: the meaning of its columns, and the contact that each row describes.
 */
import { Array, Effect, Option, Result, Schema } from "effect"
import type { ContactField } from "../catalog/ContactFields.ts"
import type { Tag } from "../catalog/Tags.ts"
import type { ContactFieldId, TagId } from "../kernel/Ids.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import { foldCase, plainLine } from "../kernel/Text.ts"
import { CreateContact, WritableContact } from "./ContactInput.ts"

/** The column's name is neither a writable field of contacts nor a contact field of the organization. */
export class ColumnUnknown extends Schema.TaggedError<ColumnUnknown>()("ColumnUnknown", { column: Schema.String }) {}

/** Two columns write the same field. */
export class ColumnRepeated extends Schema.TaggedError<ColumnRepeated>()("ColumnRepeated", { column: Schema.String }) {}

/** The key is not a column of the table, or it is a column that holds several values. */
export class KeyUnsuitable extends Schema.TaggedError<KeyUnsuitable>()("KeyUnsuitable", {
  column: Schema.String,
  /** The columns of the table that can be the key. */
  suitable: Schema.Array(Schema.String)
}) {}

/** A row has more or fewer cells than the table has columns. */
export class CellsMismatch extends Schema.TaggedError<CellsMismatch>()("CellsMismatch", {
  columns: Schema.Number,
  cells: Schema.Number
}) {}

/** A row has no value in the key column. */
export class KeyMissing extends Schema.TaggedError<KeyMissing>()("KeyMissing", { column: Schema.String }) {}

/** A cell contains U+FFFD, the replacement character: the file is not in UTF-8. */
export class TextBroken extends Schema.TaggedError<TextBroken>()("TextBroken", { column: Schema.String }) {}

/** The organization has no tag of that name. */
export class TagUnknown extends Schema.TaggedError<TagUnknown>()("TagUnknown", { name: Schema.String }) {}

type PlainField = Exclude<keyof WritableContact, "custom_values" | "tag_ids">

/** The content of a column's cells. */
type Meaning =
  | { readonly kind: "field"; readonly field: PlainField }
  | { readonly kind: "custom_value"; readonly id: ContactFieldId }
  | { readonly kind: "tag_ids" }
  | { readonly kind: "tags" }

export interface Column {
  readonly name: string
  /** The path of the field that it writes, as in `param` of an error. */
  readonly param: string
  readonly meaning: Meaning
}

/** A table whose header has been read. */
export interface ImportTable {
  readonly columns: ReadonlyArray<Column>
  /** The column that identifies a contact; null where all values together do. */
  readonly key: Column | null
  /** The organization's tags by folded name. */
  readonly tags: ReadonlyMap<string, TagId>
}

/** The contact fields and tags that columns and cells may refer to. */
interface Catalogs {
  readonly fields: ReadonlyArray<ContactField>
  readonly tags: ReadonlyArray<Tag>
}

const isPlain = (name: string): name is PlainField =>
  Object.hasOwn(WritableContact.fields, name) && name !== "custom_values" && name !== "tag_ids"

const custom_value_name = /^custom_values\.(.+)$/

const readColumn = (name: string, { fields }: Catalogs): Result.Result<Column, ColumnUnknown> => {
  if (isPlain(name)) return Result.succeed({ name, param: name, meaning: { kind: "field", field: name } })
  if (name === "tags" || name === "tag_ids") return Result.succeed({ name, param: name, meaning: { kind: name } })
  const wanted = custom_value_name.exec(name)?.[1]
  const field = fields.find(({ id, key }) => key === wanted || id === wanted?.toLowerCase())
  return field === undefined ? Result.fail(new ColumnUnknown({ column: name })) : Result.succeed({
    name,
    param: `custom_values.${field.id}`,
    meaning: { kind: "custom_value", id: field.id }
  })
}

/**
 * Reads the columns of a table from their names.
 *
 * **Details**
 *
 * A column is named after a writable field (contract §8.1), `custom_values.` with
 * the key or ID of a contact field, `tag_ids`, or `tags` for tags by name. A cell
 * may hold several tags, separated by `;`.
 */
export const readColumns = resultFunction(
  function*(names: ReadonlyArray<string>, key: string | null, catalogs: Catalogs) {
    const columns = yield* Result.all(names.map((name) => readColumn(name.trim(), catalogs)))
    const repeated = columns.find(({ param }, index) => columns.findIndex((other) => other.param === param) < index)
    if (repeated !== undefined) return yield* Result.fail(new ColumnRepeated({ column: repeated.name }))
    const suitable = columns.filter(({ meaning }) => meaning.kind !== "tags" && meaning.kind !== "tag_ids")
    const keyed = suitable.find(({ name }) => name === key) ?? null
    const tags = new Map(catalogs.tags.map(({ id, name }) => [foldCase(name), id]))
    if (key === null) return { columns, key: null, tags }
    if (keyed === null) {
      return yield* Result.fail(new KeyUnsuitable({ column: key, suitable: suitable.map(({ name }) => name) }))
    }
    return { columns, key: keyed, tags }
  }
)

const decode = Schema.decodeUnknownEffect(CreateContact, { reportInput: true })

const splitCell = (cell: string): ReadonlyArray<string> =>
  cell.split(";").map((part) => part.trim()).filter((part) => part !== "")

/** Returns the fields of a row as they are written. Cells are trimmed; a cell without a visible character sets no field. */
const fieldsOf = resultFunction(
  function*({ columns, tags }: ImportTable, cells: ReadonlyArray<string>) {
    if (cells.length !== columns.length) {
      return yield* Result.fail(new CellsMismatch({ columns: columns.length, cells: cells.length }))
    }
    const plain: Record<string, string> = {}
    const custom_values: Record<string, string> = {}
    const tag_ids: Array<string> = []
    for (const [{ meaning, name }, written] of Array.zip(columns, cells)) {
      const cell = written.trim()
      if (plainLine(cell) === "") continue
      if (cell.includes("\uFFFD")) return yield* Result.fail(new TextBroken({ column: name }))
      switch (meaning.kind) {
        case "field":
          plain[meaning.field] = cell
          break
        case "custom_value":
          custom_values[meaning.id] = cell
          break
        case "tag_ids":
          tag_ids.push(...splitCell(cell))
          break
        case "tags":
          for (const name of splitCell(cell)) {
            const id = Option.fromUndefinedOr(tags.get(foldCase(name)))
            tag_ids.push(yield* Result.fromOption(id, () => new TagUnknown({ name })))
          }
      }
    }
    return { ...plain, custom_values, tag_ids }
  }
)

/** Returns the contact that a row describes. */
export const readRow = (table: ImportTable, cells: ReadonlyArray<string>) =>
  Effect.flatMap(Effect.fromResult(fieldsOf(table, cells)), (fields) => decode(fields))

/** Returns the contact's value in a column, or null where it has none. */
export const valueOf = ({ custom_values, ...plain }: CreateContact, { meaning }: Column): string | null => {
  switch (meaning.kind) {
    case "field":
      return plain[meaning.field] ?? null
    case "custom_value":
      return custom_values?.[meaning.id] ?? null
    default:
      return null
  }
}
