/** Conversions between core's types and the columns of PostgreSQL. */
import type { PageRequest } from "@messaging-crm/core/Page"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Option, Schema, SchemaTransformation, Struct } from "effect"

/**
 * Returns the schema of a row with the fields of a schema. Their values are core's already, because the client converts times. A column
 * of JSON whose content has to be converted needs the schema of the field instead.
 */
export const stored = <const Fields extends Schema.Struct.Fields>(schema: Schema.Struct<Fields>) =>
  schema.mapFields(Struct.map(Schema.toType))

/** Schema for a `timestamptz` column, which the client returns as core's time. */
export const At = Schema.DateTimeUtc

/** Schema for a nullable `timestamptz` column. */
export const OptionalAt = Schema.NullOr(At)

/** Returns the columns of a row's schema as a list in SQL. */
export const columnsOf = ({ fields }: { readonly fields: object }): string => Object.keys(fields).join(", ")

/** Returns a value as a parameter for a `jsonb` column. */
export const json = (value: unknown): string => JSON.stringify(value)

const isJson = (text: string): boolean => Option.isSome(Option.liftThrowable(JSON.parse)(text))

const JsonText = Schema.String.check(Schema.makeFilter(isJson, { expected: "a text of JSON" }))

/** How many texts of one column are kept parsed, and how long each of them may be: a few MB. */
const parsed_max = 4096
const parsed_length_max = 1000

/** Parses JSON, and each of the last texts only once. */
const parserOf = () => {
  const parsed = new Map<string, unknown>()
  return (text: string): unknown => {
    const known = parsed.get(text)
    if (known !== undefined) return known
    const value: unknown = JSON.parse(text)
    if (text.length > parsed_length_max) return value
    if (parsed.size === parsed_max) parsed.clear()
    parsed.set(text, value)
    return value
  }
}

/**
 * Schema for a `jsonb` column that is selected as its text, because many rows of a page have the same value, such as
 * the sender of a message: parsing it takes longer than to read the rest of the row.
 */
export const repeated = <S extends Schema.Constraint>(schema: S) => {
  const parse = parserOf()
  return JsonText.pipe(
    Schema.decodeTo(
      schema,
      SchemaTransformation.transform({ decode: (text) => parse(text) as S["Encoded"], encode: json })
    )
  )
}

/** Returns a timestamp as a parameter for the driver. */
export const date = (at: Timestamp): Date => DateTime.toDateUtc(at)

/** Returns an optional timestamp as a parameter for the driver. */
export const optionalDate = (at: Timestamp | null): Date | null => at === null ? null : date(at)

/**
 * Returns where a page starts: after the position of its request, or before
 * every row there can be. So the first page uses the same statement as the others.
 */
export const startOf = ({ after }: PageRequest): { readonly at: string; readonly id: string } =>
  after === null
    ? { at: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" }
    : { at: DateTime.formatIso(after.at), id: after.id }
