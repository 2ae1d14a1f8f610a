/** Schemas for the JSON of the Graph API: every field can be absent, and unknown fields are ignored. */
import { Text, toStorable } from "@messaging-crm/core/Text"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Effect, Option, Schema, SchemaGetter } from "effect"

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

/** Schema for an ID of the networks. An ID that is a JSON number becomes its digits. */
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

type UnknownObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is UnknownObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a value if it is an object, else an empty one. */
export const objectOf = (value: unknown): UnknownObject => isObject(value) ? value : {}

const decodeId = Schema.decodeUnknownOption(NetworkId)

/** Returns a value if it is an ID, else null. */
export const idOf = (value: unknown): string | null => Option.getOrNull(decodeId(value))

/** Schema for a time of a network: a number, its digits as text, or an ISO date. */
export const NetworkTime = Schema.Union([Schema.Number, Schema.String])

/** The smallest value that is read as milliseconds. In seconds it would be the year 33658. */
const millis_min = 1e12
const millis_max = 8.64e15

const iso = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})$/

/** Returns the time that a network gives in seconds or milliseconds, as a number or as text, or as an ISO date. */
export const timeIn = (moment: typeof NetworkTime.Type | undefined): Option.Option<Timestamp> => {
  if (typeof moment === "string" && iso.test(moment)) return DateTime.make(moment)
  const value = typeof moment === "string" && !/^[0-9]{1,16}$/.test(moment) ? NaN : Number(moment)
  const millis = value >= millis_min ? value : value * 1000
  return millis > 0 && millis <= millis_max ? DateTime.make(Math.trunc(millis)) : Option.none()
}

/** Returns the time that a network gives; else the fallback. */
export const timeOf = (moment: typeof NetworkTime.Type | undefined, fallback: DateTime.Utc): Timestamp =>
  Option.getOrElse(timeIn(moment), () => fallback)

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
