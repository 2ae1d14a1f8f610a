/** Simplifies the generated schemas for readers, and leaves responses open for generated clients. */
import { type JsonSchema, Predicate } from "effect"

const { isObject } = Predicate

type Json = JsonSchema.JsonSchema

const isNull = (schema: unknown): boolean => isObject(schema) && schema.type === "null"

/** The types that generators read in an array with `null`. Of an array, an object, or an enumeration they then lose the rest. */
const scalars: ReadonlySet<unknown> = new Set(["boolean", "integer", "number", "string"])

const isScalar = (schema: unknown): schema is Json =>
  isObject(schema) && scalars.has(schema.type) && schema.enum === undefined

/** Writes `anyOf` of a plain schema and null as the plain schema with the additional type `null`. */
const nullable = ({ anyOf: _anyOf, ...schema }: Json, plain: Json): Json => ({
  ...plain,
  ...schema,
  type: [plain.type, "null"]
})

/** Writes `allOf` as one schema, unless its parts give one key different values. */
const merged = (given: Json): Json => {
  const { allOf, ...schema } = given
  if (!Array.isArray(allOf)) return given
  const parts: ReadonlyArray<Json> = [schema, ...allOf]
  const whole: Json = Object.assign({}, ...parts)
  const isAgreed = parts.every((part) =>
    Object.entries(part).every(([key, value]) => key !== "$ref" && JSON.stringify(value) === JSON.stringify(whole[key]))
  )
  return isAgreed ? whole : given
}

/** Drops the only value of a boolean, which generators read as an enumeration of texts. */
const unlisted = ({ enum: _enum, ...schema }: Json): Json => schema

/** Writes a pattern without the escapes that only a regular expression between slashes needs. */
const unescaped = (pattern: string): string =>
  pattern.replaceAll(/\\(.)/gs, (escaped, character) => character === "/" ? "/" : escaped)

/** Drops the bounds of safe integers, which hold for every integer. */
const unbounded = ({ maximum, minimum, ...schema }: Json): Json => ({
  ...schema,
  ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
  ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum })
})

const simplify = (given: Json): Json => {
  const schema = merged(typeof given.pattern === "string" ? { ...given, pattern: unescaped(given.pattern) } : given)
  if (schema.type === "integer") return unbounded(schema)
  if (schema.type === "boolean") return unlisted(schema)
  if (!Array.isArray(schema.anyOf)) return schema
  const [first, second] = schema.anyOf
  if (schema.anyOf.length === 1) {
    const { anyOf: _anyOf, ...rest } = schema
    return { ...first, ...rest }
  }
  return schema.anyOf.length === 2 && isScalar(first) && isNull(second) ? nullable(schema, first) : schema
}

/** Returns a part of the document with every schema in it simplified. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const { propertyNames, ...rest } = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]))
  // Every name is a string.
  const isNamed = propertyNames !== undefined && JSON.stringify(propertyNames) !== "{\"type\":\"string\"}"
  return simplify(isNamed ? { ...rest, propertyNames } : rest)
}

/**
 * Returns a part of the document without `additionalProperties: false`: a response
 * may get new fields without a new version, so clients must accept unknown ones.
 */
export const tolerant = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tolerant)
  if (!isObject(value)) return value
  const { additionalProperties, ...rest } = value
  const allowed = additionalProperties === undefined || additionalProperties === false ? {} : { additionalProperties }
  return Object.fromEntries(
    Object.entries({ ...rest, ...allowed }).map(([key, each]) => [key, tolerant(each)])
  )
}

const prefix = "#/components/schemas/"

/** Returns the names of the components that a part of the document refers to, directly and indirectly. */
export const referredBy = (
  part: unknown,
  components: Readonly<Record<string, unknown>>,
  seen: ReadonlySet<string> = new Set()
): ReadonlySet<string> => {
  if (Array.isArray(part)) return part.reduce((seen, each) => referredBy(each, components, seen), seen)
  if (!isObject(part)) return seen
  const { $ref } = part
  if (typeof $ref !== "string" || !$ref.startsWith(prefix)) return referredBy(Object.values(part), components, seen)
  const name = $ref.slice(prefix.length)
  return seen.has(name) ? seen : referredBy(components[name], components, new Set(seen).add(name))
}

/** Returns the text that a property of a component must have, if it can have only one. */
const tagOf = (component: unknown, property: string): string | null => {
  const { properties, required } = component as Json
  const { enum: texts } = ((properties ?? {}) as Readonly<Record<string, Json>>)[property] ?? {}
  const isTag = Array.isArray(required) && required.includes(property) && Array.isArray(texts) && texts.length === 1
  return isTag ? String(texts[0]) : null
}

/** Writes a union of components with different values of `type` as one that names this discriminator. */
export const discriminated = (value: unknown, components: Readonly<Record<string, unknown>>): unknown => {
  if (Array.isArray(value)) return value.map((each) => discriminated(each, components))
  if (!isObject(value)) return value
  const schema = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, discriminated(each, components)]))
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const mapping = anyOf.flatMap(({ $ref }: Json) => {
    const tag = typeof $ref === "string" ? tagOf(components[$ref.slice(prefix.length)], "type") : null
    return tag === null ? [] : [[tag, $ref]]
  })
  return mapping.length < anyOf.length
    ? schema
    : { ...rest, oneOf: anyOf, discriminator: { propertyName: "type", mapping: Object.fromEntries(mapping) } }
}
