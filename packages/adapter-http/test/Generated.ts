/**
 * Generates valid requests from the OpenAPI document, and requests with one changed value.
 *
 * A seed determines them all, so that a failure can be repeated.
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

/** Values that a field of this name would have, where what the schema says of it is not all. */
export type Pool = Readonly<Record<string, ReadonlyArray<unknown>>>

export const generator = (random: () => number, pool: Pool) => {
  const pick = <A>(all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)] as A
  const count = (min: number, max: number) => min + Math.floor(random() * (max - min + 1))

  const text = ({ maxLength = 40, minLength = 0 }: Schema): string => {
    const length = pick([minLength, maxLength, count(minLength, Math.min(maxLength, minLength + 20))])
    if (length < 2) return "x".repeat(length)
    // A long text repeats a part: to pick each of its characters takes longer than the request.
    const part = Array.from({ length: Math.min(length - 2, 100) }, () => pick(characters))
    const inside = Array.from({ length: length - 2 }, (_, index) => part[index % part.length])
    // Trimmed texts are measured by what is left of them.
    return `x${inside.join("")}x`
  }

  const typeOf = ({ type }: Schema): string => Array.isArray(type) ? pick(type) : String(type)

  /** Returns a value that the document allows. */
  const valid = (given: Schema, name: string): unknown => {
    const schema = resolve<Schema>(given)
    const known = pool[name]
    if (known !== undefined) return pick(known)
    if (schema.enum !== undefined) return pick(schema.enum)
    if (schema.anyOf !== undefined && schema.properties === undefined) return valid(pick(schema.anyOf), name)
    switch (typeOf(schema)) {
      case "null":
        return null
      case "boolean":
        return random() < 0.5
      case "integer":
        return count(schema.minimum ?? 0, schema.maximum ?? 1000)
      case "array": {
        const { items = {}, maxItems = 5, minItems = 0 } = schema
        const all = Array.from(
          { length: count(minItems, Math.min(maxItems, minItems + 3)) },
          () => valid(items, `${name}[]`)
        )
        return schema.uniqueItems === true ? Array.from(new Set(all)) : all
      }
      case "object":
        return object(schema)
      default:
        if (schema.format === "uuid") return crypto.randomUUID()
        return text(schema)
    }
  }

  const object = ({ properties = {}, required = [] }: Schema) =>
    Object.fromEntries(
      Object.entries(properties).flatMap(([name, schema]) =>
        required.includes(name) || random() < 0.4 ? [[name, valid(schema, name)]] : []
      )
    )

  /** Returns values next to what the schema allows, on both sides of each bound. */
  const nearby = (given: Schema): ReadonlyArray<unknown> => {
    const schema = resolve<Schema>(given)
    const long = (length: number) => pick(["x", "😀", "é"]).repeat(length)
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
          Array.from({ length }, () => valid(schema.items ?? {}, "tag_ids[]"))
        ))
    ]
  }

  /** Returns a value with one thing changed, somewhere in it. */
  const mutated = (given: Schema, value: unknown, name: string): unknown => {
    const schema = resolve<Schema>(given)
    if (Array.isArray(value) && value.length > 0 && schema.items !== undefined && random() < 0.6) {
      const at = Math.floor(random() * value.length)
      return value.with(at, mutated(schema.items, value[at], `${name}[]`))
    }
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    const properties = schema.properties ?? (schema.anyOf === undefined
      ? undefined
      : Object.fromEntries(schema.anyOf.flatMap((each) => Object.entries(resolve<Schema>(each).properties ?? {}))))
    if (!isObject || properties === undefined || random() < 0.1) return pick(nearby(schema))
    const names = Object.keys(properties)
    const field = pick(names.length === 0 ? ["x"] : names)
    const { [field]: present, ...rest } = value as Readonly<Record<string, unknown>>
    const roll = random()
    if (roll < 0.15) return rest
    if (roll < 0.25) return { ...value, [pick(["unknown", "", "id", "__proto__ ", field.toUpperCase()])]: 1 }
    const inner = properties[field] ?? {}
    return { ...rest, [field]: mutated(inner, present ?? valid(inner, field), field) }
  }

  return { mutated, nearby, pick, valid }
}
