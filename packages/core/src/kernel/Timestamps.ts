import { DateTime, Schema, SchemaGetter, SchemaTransformation } from "effect"

const day_millis = 86_400_000

/** Returns the texts of the numbers below `count`, each with what follows it in a time. */
const texts = (count: number, length: number, then: string): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, value) => `${String(value).padStart(length, "0")}${then}`)

// Longer parts in tables, so that few texts are joined for each time.
const hours_and_minutes = texts(24, 2, ":").flatMap((hour) => texts(60, 2, ":").map((minute) => `${hour}${minute}`))
const seconds = texts(60, 2, ".")
const milliseconds = texts(1000, 3, "Z")

/** A cache of the last formatted day: the times of one list are often of the same day. */
let cached = { day: Number.NaN, text: "" }

/** Formats a time like `toISOString`, in ISO 8601 with three decimals and `Z`, four times as fast. */
export const isoOf = (at: DateTime.Utc): string => {
  const millis = DateTime.toEpochMillis(at)
  const day = Math.floor(millis / day_millis)
  if (day !== cached.day) cached = { day, text: `${new Date(millis).toISOString().split("T", 1)[0]}T` }
  const time = millis - day * day_millis
  const minute = Math.trunc(time / 60_000)
  const rest = time - minute * 60_000
  return `${cached.text}${hours_and_minutes[minute]}${seconds[Math.trunc(rest / 1000)]}${milliseconds[rest % 1000]}`
}

/** Schema for a time: `DateTime.Utc` in code, ISO 8601 with three decimals and `Z` on the wire. */
export const Timestamp = Schema.DateTimeUtcFromString.from.pipe(
  Schema.decodeTo(Schema.DateTimeUtc, {
    decode: SchemaTransformation.dateTimeUtcFromString.decode,
    encode: SchemaGetter.transform(isoOf)
  }),
  Schema.annotateEncoded({ format: "date-time" })
)
export type Timestamp = typeof Timestamp.Type
