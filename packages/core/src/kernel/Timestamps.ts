import { DateTime, Record, Schema, SchemaGetter, SchemaTransformation } from "effect"

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

/**
 * Returns a record with its times as text, as `JSON.stringify` writes them; the record itself if it has none.
 *
 * It is faster than leaving the times to `JSON.stringify` (docs/performance.md, Constructs of core).
 */
export const withTextTimes = (record: object): object =>
  Object.values(record).some(DateTime.isDateTime)
    ? Record.map(
      record as Readonly<Record<string, unknown>>,
      (value) => DateTime.isDateTime(value) ? DateTime.formatIso(value) : value
    )
    : record

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

/** Returns whether a text is a time in UTC that exists: JavaScript reads February 30 as March 2. */
const isInstant = (text: string): boolean => {
  const at = new Date(instant.test(text) ? text : NaN)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text.slice(0, 19))
}

/** Schema for a time in a query: ISO 8601 in UTC with seconds, such as `2026-11-20T10:00:00Z`. */
export const SinceTime = Schema.String.check(
  Schema.makeFilter(isInstant, {
    expected: "a time in UTC, such as 2026-11-20T10:00:00.000Z",
    toJsonSchema: () => ({ pattern: instant.source })
  })
).pipe(Schema.decodeTo(Schema.DateTimeUtc, {
  decode: SchemaTransformation.dateTimeUtcFromString.decode,
  encode: toIso
}))
