import { Schema } from "effect"

/** Schema for a time: `DateTime.Utc` in code, ISO 8601 with three decimals and `Z` on the wire. */
export const Timestamp = Schema.DateTimeUtcFromString.pipe(Schema.annotateEncoded({ format: "date-time" }))
export type Timestamp = typeof Timestamp.Type
