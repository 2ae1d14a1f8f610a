import { DateTime, Effect, Option, Record, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { isoOf } from "./Times.ts"

/** The encoding of a time: ISO 8601 with three decimals and `Z`. */
const toIso = SchemaGetter.transform(isoOf)

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
      (value) => DateTime.isDateTime(value) ? isoOf(value) : value
    )
    : record

const form = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Returns the time that a text states as in RFC 3339, cut off after milliseconds.
 *
 * JavaScript alone would read February 30 as March 2, and 24:00 as the next day. Leap seconds are rejected, as UTC without them has no such time.
 */
const instantOf = (text: string): Option.Option<DateTime.Utc> => {
  const [, date, time, decimals = "", sign, hours = 0, minutes = 0] = form.exec(text) ?? []
  const local = `${date}T${time}.${decimals.padEnd(3, "0").slice(0, 3)}Z`
  const at = new Date(local)
  if (Number.isNaN(at.getTime()) || at.toISOString() !== local) return Option.none()
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000)
  const year = new Date(at.getTime() - offset).getUTCFullYear()
  return year < 0 || year > 9999 ? Option.none() : DateTime.make(at.getTime() - offset)
}

const timeOf = (read: (text: string) => Option.Option<DateTime.Utc>) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.DateTimeUtc, {
      decode: SchemaGetter.transformEffect((text: string) =>
        Effect.fromOption(read(text)).pipe(
          Effect.mapError(() =>
            new SchemaIssue.InvalidValue({ expected: "an RFC 3339 time, such as 2026-11-20T10:00:00Z" })
          )
        )
      ),
      encode: toIso
    }),
    Schema.annotateEncoded({ format: "date-time" })
  )

/** Schema for a time in a request (contract §1.3): as in RFC 3339, with any offset, and with up to nine decimals. */
export const RequestTime = timeOf(instantOf)

/** Schema for a time in a query, where a `+` that is not percent-encoded arrives as a space. */
export const QueryTime = timeOf((text) => instantOf(text.replace(/ (?=\d\d:\d\d$)/, "+")))
