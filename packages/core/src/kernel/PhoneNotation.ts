/**
 * Phone notation: how people write a phone number, as groups of digits with separators between them (contract §8.3).
 *
 * Anything else is no notation of one number: a decimal fraction, a date, an extension, several numbers, or letters.
 */
import { Option } from "effect"
import { plainLine } from "./PlainText.ts"

/** A phone number as it was written, without its separators. */
export interface Notation {
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
export const notationOf = (written: string): Option.Option<Notation> => {
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
