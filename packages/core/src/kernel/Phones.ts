/** Phones: the canonical form of a phone number, by which people are recognized (contract §8.2). */
import { type Array, Effect, Option, Schema, SchemaGetter, SchemaIssue } from "effect"
import { parsePhoneNumberFromString } from "libphonenumber-js/min"
import { limits } from "./Limits.ts"
import { text } from "./TextSchemas.ts"

const separators = /[\s()\-./]/gu
const international = /^\+[1-9][0-9]{4,14}$/
/** Mexico's mobile numbers until 2019, which networks still use. */
const former_mexican = /^\+521(?=[1-9][0-9]{9}$)/

/**
 * Returns the canonical form of a phone number, which is stored and compared:
 * `+` and digits. None if it lacks a country code or is not a possible number
 * (contract §8.3).
 *
 * Spaces, `()-./`, and digits that are dialed only within the country are ignored.
 * `00` in place of `+` is accepted, and digits alone, which begin with the country
 * code because no code begins with 0.
 */
export const canonical = (written: string): Option.Option<string> => {
  const bare = written.replace(separators, "").replace(/^(?:00|(?=[1-9]))/, "+")
  if (!international.test(bare)) return Option.none()
  const parsed = parsePhoneNumberFromString(bare.replace(former_mexican, "+52"))
  return parsed !== undefined && parsed.isPossible() ? Option.some(parsed.number) : Option.none()
}

/** Returns the canonical form of a network's ID that is a phone number. Digits without `+` may be another ID. */
export const numberOf = (network_id: string): Option.Option<string> =>
  network_id.startsWith("+") ? canonical(network_id) : Option.none()

/**
 * The numbers that have two spellings: a number of Argentina with or without the 9 of mobile phones, a mobile number of Brazil
 * with or without its ninth digit, and a mobile number of Mexico with or without its former 1.
 */
const two_spellings: ReadonlyArray<readonly [long: RegExp, short: RegExp, inserted: string]> = [
  [/^(\+54)9([1-8][0-9]{9})$/, /^(\+54)([1-8][0-9]{9})$/, "9"],
  [/^(\+55[1-9][1-9])9([6-9][0-9]{7})$/, /^(\+55[1-9][1-9])([6-9][0-9]{7})$/, "9"],
  [/^(\+52)1([1-9][0-9]{9})$/, /^(\+52)([1-9][0-9]{9})$/, "1"]
]

/**
 * Returns the spellings of a number, the given one first (contract §8.3). Most numbers have one.
 *
 * Numbers are stored as people and networks spell them. Whatever finds a person by a number looks for each spelling.
 */
export const spellings = (number: string): Array.NonEmptyReadonlyArray<string> => {
  const others = two_spellings.flatMap(([long, short, inserted]) => {
    if (long.test(number)) return number.replace(long, "$1$2")
    return short.test(number) ? number.replace(short, `$1${inserted}$2`) : []
  })
  return [number, ...others]
}

/** Returns the spelling that stands for all spellings of a number. */
export const sharedSpelling = (number: string): string => spellings(number).toSorted()[0] ?? number

/** The description of a phone number as clients write it. */
export const phone_description =
  "With country code: `+` and digits, `00` and digits, or digits alone. Spaces and `()-./` are ignored."

/**
 * Schema for a phone number: 6 to 32 characters as written, canonical once decoded.
 *
 * The decoded text is branded, so that a number that was not canonicalized does not compile.
 */
export const Phone = text({ min: limits.phone_chars_min, max: limits.phone_chars_max }).pipe(
  Schema.decodeTo(Schema.String.check(Schema.isPattern(international)).pipe(Schema.brand("Phone")), {
    decode: SchemaGetter.transformEffect((written: string) =>
      Effect.fromOption(canonical(written)).pipe(
        Effect.mapError(() =>
          new SchemaIssue.InvalidValue({ expected: "a phone number with its country code, such as +4915112345678" })
        )
      )
    ),
    encode: SchemaGetter.passthrough()
  })
)
export type Phone = typeof Phone.Type
