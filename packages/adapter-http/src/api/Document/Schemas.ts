/** Simplifies the generated schemas for readers, and leaves responses open for generated clients. */
import { type JsonSchema, Predicate } from "effect"

const { isObject } = Predicate

type Json = JsonSchema.JsonSchema

const isNull = (schema: unknown): boolean => isObject(schema) && schema.type === "null"

/** Writes `anyOf` of a plain schema and null as the plain schema with the additional type `null`. */
const nullable = ({ anyOf: _anyOf, ...schema }: Json, plain: Json): Json => ({
  ...plain,
  ...schema,
  type: [plain.type, "null"],
  ...(Array.isArray(plain.enum) ? { enum: [...plain.enum, null] } : {})
})

/** Writes `allOf` of schemas without common keys as one schema. */
const merged = ({ allOf, ...schema }: Json): Json => {
  const parts: ReadonlyArray<Json> = Array.isArray(allOf) ? [schema, ...allOf] : [schema]
  const keys = parts.flatMap((part) => Object.keys(part))
  const isPlain = new Set(keys).size === keys.length && !keys.includes("$ref")
  return isPlain ? Object.assign({}, ...parts) : { ...schema, allOf }
}

/** Drops the bounds of safe integers, which hold for every integer. */
const unbounded = ({ maximum, minimum, ...schema }: Json): Json => ({
  ...schema,
  ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
  ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum })
})

const simplify = (schema: Json): Json => {
  if (schema.type === "integer") return unbounded(schema)
  if (Array.isArray(schema.allOf)) return merged(schema)
  if (!Array.isArray(schema.anyOf)) return schema
  const [first, second] = schema.anyOf
  if (schema.anyOf.length === 1) {
    const { anyOf: _anyOf, ...rest } = schema
    return { ...first, ...rest }
  }
  const isPlain = isObject(first) && typeof first.type === "string"
  return schema.anyOf.length === 2 && isPlain && isNull(second) ? nullable(schema, first) : schema
}

/** Returns a part of the document with every schema in it simplified. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  return simplify(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)])))
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
