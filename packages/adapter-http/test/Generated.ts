/**
 * Generates valid values from schemas of the OpenAPI document, and values with one change.
 *
 * The random numbers determine them all, so that a seed repeats a failure.
 */
import { resolve } from "../testing/Document.ts"

export interface Schema {
  readonly $ref?: string
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly enum?: ReadonlyArray<unknown>
  readonly format?: string
  readonly items?: Schema
  readonly maxItems?: number
  readonly maxLength?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly minLength?: number
  readonly minimum?: number
  readonly oneOf?: ReadonlyArray<Schema>
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly type?: string | ReadonlyArray<string>
  readonly uniqueItems?: boolean
}

const characters = [
  "a",
  "Z",
  " ",
  "0",
  "%",
  "'",
  "\\",
  "\"",
  "é",
  "ß",
  "\u0130",
  "א",
  "\u200D",
  "😀",
  "\n",
  "{"
]

/** Values by field name, for fields whose schema does not describe every rule. */
export type Pool = Readonly<Record<string, ReadonlyArray<unknown>>>

/** The source of every choice, and the values of some fields. */
export interface Source {
  readonly random: () => number
  readonly pool: Pool
}

export const pick = <A>({ random }: Source, all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)] as A

const count = ({ random }: Source, min: number, max: number) => min + Math.floor(random() * (max - min + 1))

const text = (source: Source, { maxLength = 40, minLength = 0 }: Schema): string => {
  const length = pick(source, [minLength, maxLength, count(source, minLength, Math.min(maxLength, minLength + 20))])
  if (length < 2) return "x".repeat(length)
  // A long text repeats a part, because picking each of its characters takes longer than the request.
  const part = Array.from({ length: Math.min(length - 2, 100) }, () => pick(source, characters))
  const inside = Array.from({ length: length - 2 }, (_, index) => part[index % part.length])
  // The service trims some texts before it measures them, so white space only stands inside.
  return `x${inside.join("")}x`
}

const typeOf = (source: Source, { type }: Schema): string => Array.isArray(type) ? pick(source, type) : String(type)

const membersOf = ({ anyOf, oneOf }: Schema): ReadonlyArray<Schema> | undefined => anyOf ?? oneOf

/** Returns a value that the document allows. */
export const valid = (source: Source, given: Schema, name: string): unknown => {
  const schema = resolve<Schema>(given)
  const known = source.pool[name]
  if (known !== undefined) return pick(source, known)
  if (schema.enum !== undefined) return pick(source, schema.enum)
  const members = membersOf(schema)
  if (members !== undefined) return valid(source, pick(source, members), name)
  switch (typeOf(source, schema)) {
    case "null":
      return null
    case "boolean":
      return source.random() < 0.5
    case "integer":
      return count(source, schema.minimum ?? 0, schema.maximum ?? 1000)
    case "array": {
      const { items = {}, maxItems = 5, minItems = 0 } = schema
      const all = Array.from(
        { length: count(source, minItems, Math.min(maxItems, minItems + 3)) },
        () => valid(source, items, `${name}[]`)
      )
      return schema.uniqueItems === true ? Array.from(new Set(all)) : all
    }
    case "object":
      return object(source, schema)
    default:
      if (schema.format === "uuid") return crypto.randomUUID()
      return text(source, schema)
  }
}

const object = (source: Source, { properties = {}, required = [] }: Schema) =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      required.includes(name) || source.random() < 0.4 ? [[name, valid(source, schema, name)]] : []
    )
  )

/** Returns values next to what the schema allows, on both sides of each bound. */
export const nearby = (source: Source, given: Schema): ReadonlyArray<unknown> => {
  const schema = resolve<Schema>(given)
  const long = (length: number) => pick(source, ["x", "😀", "é"]).repeat(length)
  return [
    null,
    1,
    1.5,
    true,
    "",
    " ",
    "x",
    "\u0000",
    "\uD800",
    [],
    {},
    [[]],
    ...(schema.maxLength === undefined
      ? []
      : [long(schema.maxLength), long(schema.maxLength + 1), ` ${long(schema.maxLength)} `]),
    ...(schema.minLength === undefined ? [] : [long(schema.minLength), long(Math.max(0, schema.minLength - 1))]),
    ...(schema.maximum === undefined ? [] : [schema.maximum, schema.maximum + 1]),
    ...(schema.minimum === undefined ? [] : [schema.minimum, schema.minimum - 1]),
    ...(schema.enum ?? []).flatMap((word) => typeof word === "string" ? [word.toUpperCase(), `${word} `] : []),
    ...(schema.maxItems === undefined || schema.items === undefined
      ? []
      : [schema.maxItems, schema.maxItems + 1].map((length) =>
        Array.from({ length }, () => valid(source, schema.items ?? {}, "tag_ids[]"))
      ))
  ]
}

/** Returns a value with one thing changed, somewhere in it. */
export const mutated = (source: Source, given: Schema, value: unknown, name: string): unknown => {
  const schema = resolve<Schema>(given)
  if (Array.isArray(value) && value.length > 0 && schema.items !== undefined && source.random() < 0.6) {
    const at = Math.floor(source.random() * value.length)
    return value.with(at, mutated(source, schema.items, value[at], `${name}[]`))
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
  const members = membersOf(schema)
  const properties = schema.properties ?? (members === undefined
    ? undefined
    : Object.fromEntries(members.flatMap((each) => Object.entries(resolve<Schema>(each).properties ?? {}))))
  if (!isObject || properties === undefined || source.random() < 0.1) return pick(source, nearby(source, schema))
  const names = Object.keys(properties)
  const field = pick(source, names.length === 0 ? ["x"] : names)
  const { [field]: present, ...rest } = value as Readonly<Record<string, unknown>>
  const roll = source.random()
  if (roll < 0.15) return rest
  if (roll < 0.25) return { ...value, [pick(source, ["unknown", "", "id", "__proto__ ", field.toUpperCase()])]: 1 }
  const inner = properties[field] ?? {}
  return { ...rest, [field]: mutated(source, inner, present ?? valid(source, inner, field), field) }
}
