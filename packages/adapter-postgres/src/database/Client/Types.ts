import { PgTypes } from "@effect/sql-pg"
import { fromMillis, type Timestamp } from "@messaging-crm/core/Timestamps"
import { Result } from "effect"

/** The OID of the type `timestamptz`. */
const timestamptz = 1184

/** The milliseconds from 1970 to 2000, where PostgreSQL's times begin. */
const epoch_millis = 946_684_800_000

const readInt32 = (bytes: Uint8Array, offset: number): number =>
  // A column has eight bytes, and an index beyond them would be 0.
  ((bytes[offset] ?? 0) << 24) | ((bytes[offset + 1] ?? 0) << 16) | ((bytes[offset + 2] ?? 0) << 8) |
  (bytes[offset + 3] ?? 0)

/**
 * Reads a time from its microseconds, a 64-bit integer, without the part that is
 * less than a millisecond.
 *
 * They exceed what a number holds exactly, so the milliseconds are computed from
 * both halves: 4,294,967,296 is 4,294,967 thousands and 296.
 */
const read = (bytes: Uint8Array, offset: number): Result.Result<Timestamp> => {
  const [high, low] = [readInt32(bytes, offset), readInt32(bytes, offset + 4) >>> 0]
  return Result.succeed(fromMillis(high * 4_294_967 + Math.floor((high * 296 + low) / 1000) + epoch_millis))
}

/**
 * Makes the driver's types, with `timestamptz` as core's time and not as a `Date`: a
 * page has hundreds, and to make a `Date` of each first takes four times as long.
 *
 * A parameter is a `Date` or milliseconds. `infinity` is read as a time outside of the range of `Date`.
 */
export const make = (): PgTypes.Registry => {
  const types = PgTypes.makeRegistry()
  types.register<unknown>(timestamptz, {
    encode: (value) => PgTypes.encode(value, timestamptz),
    decode: (bytes) => read(bytes, 0),
    read
  })
  return types
}
