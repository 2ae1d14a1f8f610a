/** Phones: the canonical form of a phone number, by which people are recognized (contract §8.2). */
import { type Array, Effect, Option, Schema, SchemaGetter, SchemaIssue } from "effect"
import {
  type CountryCode,
  getCountryCallingCode,
  parsePhoneNumberFromString,
  type PhoneNumber
} from "libphonenumber-js/max"
import { type Country, DefaultCountry } from "./Countries.ts"
import { limits } from "./Limits.ts"
import { plainLine, trimmedText } from "./Text.ts"

// How people write a phone number: as groups of digits with separators between them (contract §8.3). Anything else is no
// notation of one number: a decimal fraction, a date, an extension, several numbers, or letters.

/** A phone number as it was written, without its separators. */
interface Notation {
  /** Whether it begins with `+` or `00`, so that the first digits are the country code. */
  readonly is_international: boolean
  /** All digits, without `+` or `00`. */
  readonly digits: string
  /** The digits of each group. */
  readonly groups: ReadonlyArray<string>
  /** Whether it contains `(0)`: the digit that is dialed only within the country. */
  readonly has_trunk_zero: boolean
}

const in_parentheses = /\( ?(\+? ?[0-9]+(?:[ -][0-9]+)*) ?\)/g
const trunk_zero = /\( ?0 ?\)/
const grouped = /^(?:\+ *)?[0-9]+(?:(?: +(?:[-./] *)?|[-./] *)[0-9]+)*$/
const date = /^(?:(?:19|20)[0-9]{2}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./](?:19|20)[0-9]{2})$/
const country_code = /^[1-9][0-9]{0,2}$/

const groupsOf = (text: string): ReadonlyArray<string> => text.match(/[0-9]+/g) ?? []

/** Returns whether groups of digits are an area code, after the country code if the number is international. */
const isCodes = ([first = "", second, ...others]: ReadonlyArray<string>, is_international: boolean): boolean => {
  if (second === undefined) return first.length <= (is_international ? 8 : 6)
  return is_international && country_code.test(first) && second.length <= 6 && others.length === 0
}

/** Returns the groups of digits before the last separator of a kind, and the digits after it. */
const splitAtLast = (text: string, separator: "." | "/") => {
  const at = text.lastIndexOf(separator)
  return [groupsOf(text.slice(0, at)), groupsOf(text.slice(at)).join("")] as const
}

/** Returns whether a slash separates the area code from the rest. Elsewhere, it separates another ending: `1234567/68`. */
const hasReadableSlash = (text: string, is_international: boolean): boolean => {
  const [before, after] = splitAtLast(text, "/")
  // A group of its own for the digit that is dialed only within the country does not count.
  return isCodes(before.filter((group) => group !== "0"), is_international) && after.length >= 3
}

/** Returns whether the digits after the last dot are a group of the number, not a decimal fraction: `4915112345678.0`. */
const hasReadableDot = (text: string): boolean => {
  const [before, after] = splitAtLast(text, ".")
  if (text.indexOf(".") < text.lastIndexOf(".")) return after.length >= 2
  const { length } = before.at(-1) ?? ""
  return length <= 8 && after.length >= (length > 3 ? 3 : 2)
}

/**
 * Returns whether a hyphen separates the ending of a second number: `1234567-68`. An ending that does not continue the digits
 * before it is a direct dial: `123456-0`.
 */
const hasSecondEnding = (text: string): boolean => {
  const [, before = "", ending = ""] = /([0-9]{4,}) *- *([0-9]{1,2})$/.exec(text) ?? []
  const step = Number(ending) - Number(before.slice(-ending.length))
  return ending !== "" && step > 0 && step < 10
}

/** Returns the notation of one phone number, or none for any other text. */
const notationOf = (written: string): Option.Option<Notation> => {
  const line = plainLine(written).replace(/^tel: ?/i, "")
  const text = line.replace(in_parentheses, " $1 ").trim()
  if (!grouped.test(text) || date.test(text) || hasSecondEnding(text)) return Option.none()
  const [first = "", ...rest] = groupsOf(text)
  const has_zeros = !text.startsWith("+") && first.startsWith("00")
  const is_international = has_zeros || text.startsWith("+")
  const code = has_zeros ? first.slice(2) : first
  const groups = code === "" ? rest : [code, ...rest]
  const bare = has_zeros ? text.replace(/^00[ \-./]*/, "") : text
  if (bare.includes("/") && !hasReadableSlash(bare, is_international)) return Option.none()
  if (bare.includes(".") && !hasReadableDot(bare)) return Option.none()
  return Option.some({
    is_international,
    digits: groups.join(""),
    groups,
    has_trunk_zero: trunk_zero.test(line)
  })
}

const international = /^\+[1-9][0-9]{4,14}$/
/** Mexico's mobile numbers until 2019, which networks still use. */
const former_mexican = /^521(?=[1-9][0-9]{9}$)/

/** The library's own reading of digits. */
const parse = (digits: string, country?: CountryCode): Option.Option<PhoneNumber> =>
  Option.fromUndefinedOr(
    parsePhoneNumberFromString(digits, { extract: false, ...(country && { defaultCountry: country }) })
  )

/**
 * Returns whether a number has the last of the digits, without any that were added.
 *
 * The library adds an area code to the local numbers of some countries. Only Argentina's 9 for a written 15 is expected.
 */
const isEndOf = (digits: string) => ({ countryCallingCode, nationalNumber }: PhoneNumber): boolean =>
  digits.endsWith(nationalNumber) || countryCallingCode === "54"

/** Returns whether a number is valid in any of its spellings. The library knows one. */
const isValid = (number: PhoneNumber): boolean =>
  number.isValid() ||
  spellings(number.number).some((spelling) => Option.exists(parse(spelling), (one) => one.isValid()))

/** Returns whether a number is valid only without its last group, which is then a second ending: `+49 151 12345678-79`. */
const isValidWithoutLastGroup = (groups: ReadonlyArray<string>, number: PhoneNumber): boolean =>
  groups.length > 1 && !isValid(number) && Option.exists(parse(`+${groups.slice(0, -1).join("")}`), isValid)

/** Returns whether the digits before the national number are the country code, and digits that are dialed within the country. */
const isComplete = ({ digits, groups, has_trunk_zero }: Notation) => (number: PhoneNumber): boolean => {
  const { countryCallingCode: code, nationalNumber } = number
  const dropped = digits.length - code.length - nationalNumber.length
  // A carrier code has more digits than a trunk prefix. Italy's numbers keep their zero.
  const isSure = dropped <= 2 && !(has_trunk_zero && nationalNumber.startsWith("0"))
  return number.isPossible() && (isSure || isValid(number)) && !isValidWithoutLastGroup(groups, number)
}

/** Returns the number whose first digits are the country code. */
const readInternational = (notation: Notation): Option.Option<PhoneNumber> => {
  const digits = notation.digits.replace(former_mexican, "52")
  if (!international.test(`+${digits}`)) return Option.none()
  return parse(`+${digits}`).pipe(Option.filter(isEndOf(digits)), Option.filter(isComplete({ ...notation, digits })))
}

/** Returns the number that is dialed with these digits within a country. */
const readNational = (digits: string, country: CountryCode): Option.Option<PhoneNumber> =>
  parse(digits, country).pipe(
    Option.filter((number) => isValid(number) && number.getType() !== "VOICEMAIL"),
    Option.filter(isEndOf(digits))
  )

/**
 * Returns whether eleven digits are a number as it is dialed within a large country.
 *
 * Mobile numbers of Brazil and China have eleven digits, as numbers of Russia with its trunk digit 8. Within other
 * countries, people dial at most ten digits, or begin with 0.
 */
const isDialedWithin = (digits: string): boolean => {
  const isMobile = (country: CountryCode) =>
    Option.exists(
      readNational(digits, country),
      (number) => number.getType() === "MOBILE" && number.nationalNumber === digits
    )
  return digits.length === 11 && (isMobile("BR") || isMobile("CN") ||
    (digits.startsWith("8") && Option.isSome(readNational(digits, "RU"))))
}

/** Returns the number of digits without `+` or `00`, if they are certain to begin with the country code. */
const readBare = (notation: Notation): Option.Option<PhoneNumber> => {
  const { digits, groups: [first, ...others] } = notation
  if (digits.length < 11) return Option.none()
  return Option.filter(readInternational(notation), (number) =>
    isValid(number) &&
    (others.length > 0 ? first === number.countryCallingCode : !isDialedWithin(digits)))
}

const digitsOf = (text: string): string => text.replace(/[^0-9]/g, "")

/** Returns whether people write a number with these digits within its country, with or without what they can leave out. */
const isWrittenAs = (digits: string, number: PhoneNumber): boolean =>
  [true, false].some((nationalPrefix) => digitsOf(number.formatNational({ nationalPrefix })) === digits)

/**
 * Returns the number of digits without `+` or `00` where they can be dialed within a country.
 *
 * None if the digits can also be another number, with its country code first.
 */
const readWithin = (notation: Notation, country: CountryCode): Option.Option<PhoneNumber> => {
  const { digits } = notation
  const valid = Option.filter(readInternational(notation), (number) => number.isValid())
  const own = Option.filter(valid, (number) => number.countryCallingCode === getCountryCallingCode(country))
  const bare = Option.orElse(own, () => readBare(notation))
  const national = readNational(digits, country)
  if (Option.isNone(national)) return bare
  const other = isWrittenAs(digits, national.value) ? bare : valid
  if (Option.isNone(other) || other.value.number === national.value.number) return national
  return Option.filter(own, (number) => number.getType() === "MOBILE")
}

/**
 * Returns the canonical form of a phone number, which is stored and compared:
 * `+` and digits. None if the text is not certain to be one possible number (contract §8.3).
 *
 * `country` is the one whose national notation is read too; null for none.
 */
export const canonical = (written: string, country: Country | null = null): Option.Option<string> =>
  Option.flatMap(notationOf(written), (notation) => {
    const found = notation.is_international
      ? readInternational(notation)
      : country === null
      ? readBare(notation)
      // Its schema has proved that the country is one of the library's.
      : readWithin(notation, country as CountryCode)
    return Option.map(found, ({ number }) => number)
  })

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
  "One phone number with `+` and its country code. Spaces and `()-./` between groups of digits are ignored, `00` is read as `+`, and invisible characters are removed. Digits alone are accepted only if they are certain to begin with the country code, and a number as it is dialed within a country only if it is the organization's default country."

/** Returns whether a spreadsheet has rounded a number, as in `4.91512E+12` or `4,91512E+12`. */
const isRounded = (written: string): boolean => /^[0-9](?:[.,][0-9]+)?E\+?[0-9]{1,2}$/i.test(written)

const expectedOf = (written: string, country: Country | null): string =>
  isRounded(written)
    ? "a phone number with all its digits, but a spreadsheet has rounded it; format the column as text and enter the number again"
    : country === null
    ? "one phone number that starts with + and the country code, such as +4915112345678"
    : `one phone number, as it is dialed within ${country} or with + and the country code`

/**
 * Schema for a phone number: 6 to 32 characters as written, canonical once decoded. It reads `DefaultCountry`.
 *
 * The decoded text is branded, so that a number that was not canonicalized does not compile.
 */
export const Phone = trimmedText({ min: limits.phone_chars_min, max: limits.phone_chars_max }, plainLine).pipe(
  Schema.decodeTo(Schema.String.check(Schema.isPattern(international)).pipe(Schema.brand("Phone")), {
    decode: SchemaGetter.transformEffect((written: string, options) =>
      Effect.flatMap(DefaultCountry, (country) =>
        Effect.mapError(
          Effect.fromOption(canonical(written, country)),
          () => new SchemaIssue.InvalidValue({ expected: expectedOf(written, country) }, written, options)
        ))
    ),
    encode: SchemaGetter.passthrough()
  })
)
export type Phone = typeof Phone.Type
