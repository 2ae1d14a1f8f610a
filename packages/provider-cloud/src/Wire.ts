/** Schemas for the networks' JSON. Every field may be absent, and unknown fields are ignored. */
import { Text } from "@messaging-crm/core/Text"
import { Effect, Option, Schema, SchemaGetter } from "effect"

/** Schema for a field that counts as absent where it is null or of another shape. */
export const lenient = <S extends Schema.Constraint>(schema: S) =>
  Schema.catchDecoding<Schema.optionalKey<S>>(() => Effect.succeed(Option.none()))(Schema.optionalKey(schema))

const id_chars_max = 500

/** Schema for text that every store can keep. Characters that cannot be stored are replaced, and not refused. */
export const StorableText = Schema.String.pipe(
  Schema.decodeTo(Text, {
    decode: SchemaGetter.transform((value: string) => value.toWellFormed().replaceAll("\u0000", "\uFFFD")),
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

/** Schema for a list whose items are decoded one by one, later. */
export const Items = Schema.Array(Schema.Unknown)
