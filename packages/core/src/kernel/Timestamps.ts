import { DateTime, Schema, SchemaGetter, SchemaTransformation } from "effect"

/** The encoding of a time: ISO 8601 with three decimals and `Z`. */
export const toIso = SchemaGetter.transform(DateTime.formatIso)

/** Schema for a time: `DateTime.Utc` in code, ISO 8601 with three decimals and `Z` on the wire. */
export const Timestamp = Schema.DateTimeUtcFromString.from.pipe(
  Schema.decodeTo(Schema.DateTimeUtc, {
    decode: SchemaTransformation.dateTimeUtcFromString.decode,
    encode: toIso
  }),
  Schema.annotateEncoded({ format: "date-time" })
)
export type Timestamp = typeof Timestamp.Type
