import { DateTime, Schema, SchemaGetter, SchemaTransformation } from "effect"

const day_millis = 86_400_000

/** `00` to `59`, and `000` to `999`. */
const two = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"))
const three = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, "0"))

/** A cache of the last formatted day: the times of one list are often of the same day. */
let cached = { day: Number.NaN, text: "" }

/** Formats a time like `toISOString`, in ISO 8601 with three decimals and `Z`, three times as fast. */
export const isoOf = (at: DateTime.Utc): string => {
  const millis = DateTime.toEpochMillis(at)
  const day = Math.floor(millis / day_millis)
  if (day !== cached.day) cached = { day, text: new Date(millis).toISOString().split("T", 1)[0] ?? "" }
  const time = millis - day * day_millis
  const [hours, minutes] = [two[Math.trunc(time / 3_600_000)], two[Math.trunc(time / 60_000) % 60]]
  const [seconds, rest] = [two[Math.trunc(time / 1000) % 60], three[time % 1000]]
  return `${cached.text}T${hours}:${minutes}:${seconds}.${rest}Z`
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
