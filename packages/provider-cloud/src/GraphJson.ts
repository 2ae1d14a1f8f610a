/** Schemas for the networks' JSON. Every field may be absent, and unknown fields are ignored. */
import { Text, toStorable } from "@messaging-crm/core/Text"
import { Effect, Option, Schema, SchemaGetter } from "effect"

/** Schema for a field that counts as absent where it is null or of another shape. */
export const lenient = <S extends Schema.Constraint>(schema: S) =>
  Schema.catchDecoding<Schema.optionalKey<S>>(() => Effect.succeed(Option.none()))(Schema.optionalKey(schema))

const id_chars_max = 500

/** Schema for text that every store can keep. Characters that cannot be stored are replaced, and not rejected. */
export const StorableText = Schema.String.pipe(
  Schema.decodeTo(Text, {
    decode: SchemaGetter.transform(toStorable),
    encode: SchemaGetter.passthrough()
  })
)

/** Schema for an id of the networks. An id that is a JSON number becomes its digits. */
export const NetworkId = Schema.Union([Schema.String, Schema.Int]).pipe(
  Schema.decodeTo(Text.check(Schema.isBetweenCodePoints(1, id_chars_max)), {
    decode: SchemaGetter.transform(String),
    encode: SchemaGetter.passthrough()
  })
)

/** Schema for a number, which some networks write as text. */
export const Quantity = Schema.Union([Schema.Finite, Schema.FiniteFromString])

/** Schema for a whole number, which some networks write as text. */
export const Whole = Quantity.check(Schema.isInt())

export type Json = Readonly<Record<string, unknown>>

/** Schema for a flag, which some networks write as text. */
export const Flag = Schema.Union([Schema.Boolean, Schema.Literals(["true", "false"])]).pipe(
  Schema.decodeTo(Schema.Boolean, {
    decode: SchemaGetter.transform((flag) => flag === true || flag === "true"),
    encode: SchemaGetter.passthrough()
  })
)

const decodeFlag = Schema.decodeUnknownOption(Flag)

/** Returns whether a value is a flag that is set. */
export const isFlagSet = (value: unknown): boolean => Option.getOrElse(decodeFlag(value), () => false)

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a value if it is an object, else an empty one. */
export const objectOf = (value: unknown): Json => isObject(value) ? value : {}

const decodeId = Schema.decodeUnknownOption(NetworkId)

/** Returns a value if it is an id, else null. */
export const idOf = (value: unknown): string | null => Option.getOrNull(decodeId(value))

/** Schema for a list whose items are decoded one by one, later. */
export const Items = Schema.Array(Schema.Unknown)

/** The maximum number of items of one list that are decoded. Even fewer of them are stored. */
const items_max = 1000

/** Makes a function that decodes the items of a list one by one, and leaves out those of another shape. */
export const decodeEach = <S extends Schema.Codec<unknown, unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (items: ReadonlyArray<unknown> = []): ReadonlyArray<S["Type"]> =>
    items.slice(0, items_max).flatMap((item) => Option.toArray(decode(item)))
}

/** The deepest nesting of a JSON value that is kept. */
const depth_max = 16

/** Returns a JSON value whose texts every store can keep. What is nested too deep becomes null. */
const storableJson = (value: unknown, depth: number): Schema.Json => {
  if (typeof value === "string") return toStorable(value)
  // Only a number is finite, which the type of `isFinite` does not say.
  if (typeof value === "boolean" || Number.isFinite(value)) return value as boolean | number
  if (typeof value !== "object" || value === null || depth === depth_max) return null
  if (Array.isArray(value)) return value.map((item) => storableJson(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [toStorable(name), storableJson(part, depth + 1)])
  )
}

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

export type JsonObject = Readonly<Record<string, Schema.Json>>

/** Returns a JSON object that is given as it is or as text, or null. */
export const jsonObjectOf = (given: unknown): JsonObject | null => {
  const value = typeof given === "string" ? Option.getOrNull(parse(given)) : given
  if (!isObject(value)) return null
  // The cast is safe: `storableJson` returns an object for an object.
  return storableJson(value, 0) as JsonObject
}
