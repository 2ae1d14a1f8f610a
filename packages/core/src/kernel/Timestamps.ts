/** Timestamps: how times are made, formatted, and read. */
import {
  DateTime,
  Effect,
  Equal,
  Option,
  Record,
  Schema,
  SchemaGetter,
  SchemaIssue,
  SchemaTransformation
} from "effect"

// Formatted and made faster than by Effect 4.1 and Node 26, from whose sources these functions were written.

const [second_millis, minute_millis, hour_millis, day_millis] = [1000, 60_000, 3_600_000, 86_400_000]

/** The first and the last time whose year has four digits. */
const [first_millis, last_millis] = [Date.parse("0000-01-01T00:00:00.000Z"), Date.parse("9999-12-31T23:59:59.999Z")]

/** The date of the last formatted day: the times of one list are often of the same day. */
let cached = { day: Number.NaN, century: 0, year: 0, month: 0, date: 0 }

const dateOf = (day: number) => {
  const at = new Date(day * day_millis)
  const year = at.getUTCFullYear()
  return { day, century: Math.trunc(year / 100), year: year % 100, month: at.getUTCMonth() + 1, date: at.getUTCDate() }
}

const [dash, colon, point, T, Z] = [45, 58, 46, 84, 90]

/** The character codes of the two digits of a number below 100: `tens` the first, `ones` the second. */
const tens = (value: number): number => 48 + (value / 10 | 0)
const ones = (value: number): number => 48 + value % 10

/**
 * Formats a time like `toISOString`, in ISO 8601 with three decimals and `Z`, eight times as fast.
 *
 * The time of day is a 32-bit integer (`| 0`), for which V8 divides twice as fast. The text is made from its codes at
 * once: V8 keeps a template as its parts, and one such text makes `JSON.stringify` of Node 26 restart in its slow
 * path, which takes three times as long.
 */
export const isoOf = (at: DateTime.DateTime): string => {
  const millis = DateTime.toEpochMillis(at)
  if (millis < first_millis || millis > last_millis) return new Date(millis).toISOString()
  const day = Math.floor(millis / day_millis)
  if (day !== cached.day) cached = dateOf(day)
  const { century, date, month, year } = cached
  const time = (millis - day * day_millis) | 0
  const hours = time / hour_millis | 0
  const minutes = (time / minute_millis | 0) % 60
  const seconds = (time / second_millis | 0) % 60
  const fraction = time % second_millis
  // dprint-ignore
  return String.fromCharCode(
    tens(century), ones(century), tens(year), ones(year), dash, tens(month), ones(month), dash, tens(date), ones(date), T,
    tens(hours), ones(hours), colon, tens(minutes), ones(minutes), colon, tens(seconds), ones(seconds), point,
    48 + (fraction / 100 | 0), tens(fraction % 100), ones(fraction), Z
  )
}

const prototype: object = Object.getPrototypeOf(DateTime.makeUnsafe(0))

/** Returns a time without the property that Effect's constructors also define, which takes fifteen times as long. */
const bareTime = (millis: number): DateTime.Utc => {
  const at: { epochMilliseconds: number } = Object.create(prototype)
  at.epochMilliseconds = millis
  return at as DateTime.Utc
}

/** Returns a constructor of times if this version of Effect cannot tell its times from its own, and otherwise Effect's. */
export const ifIndistinguishable = (make: (millis: number) => DateTime.Utc): (millis: number) => DateTime.Utc => {
  const isIndistinguishable = Option.liftThrowable(() => {
    const [made, own] = [make(1), DateTime.makeUnsafe(1)]
    return Schema.is(Schema.DateTimeUtc)(made) && Equal.equals(made, own) && DateTime.formatIso(made) === isoOf(own)
  })
  return Option.contains(isIndistinguishable(), true) ? make : DateTime.makeUnsafe
}

/** Returns the time of a number of milliseconds since 1970. */
export const fromMillis = ifIndistinguishable(bareTime)

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
