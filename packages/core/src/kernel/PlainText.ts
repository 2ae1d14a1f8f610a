/**
 * Plain text: the form in which phones, emails, and IDs are read, and in which texts are searched (contract §1.5).
 *
 * Programs add characters that cannot be seen when people copy a value, and keyboards have other digits, dashes, and
 * spaces than ASCII. A value must not differ by them from the same value that was typed.
 */

/** Characters that show nothing: marks of direction, joiners, soft hyphens, and variation selectors. */
const invisible = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu
/** Control characters separate values. Without them, two values would become one. */
const controls = /(?!\s)\p{Cc}/gu
const spaces = /[\p{Zs}\u2800]/gu
const dashes = /[\p{Pd}\u02D7\u2043\u2212]/gu
const full_width = /[\uFF01-\uFF5E]/gu
const digits = /(?![0-9])\p{Nd}/gu

const is_digit = /^\p{Nd}$/u
const ascii = /^[\t\n\r -~]*$/

/** Returns the value of a decimal digit of any script. Unicode has them in runs from 0 to 9. */
const digitOf = (digit: string): string => {
  const point = digit.codePointAt(0) ?? 0
  let zero = point
  while (is_digit.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((point - zero) % 10)
}

/**
 * Returns a text without invisible characters, and with the spaces, dashes, decimal digits, and full-width characters of
 * any script in ASCII.
 */
export const plain = (value: string): string =>
  // Most values need nothing else.
  ascii.test(value) ? value : value
    .replace(controls, "\n")
    .replace(invisible, "")
    .replace(full_width, (character) => String.fromCharCode(character.charCodeAt(0) - 0xFEE0))
    .replace(spaces, " ")
    .replace(dashes, "-")
    .replace(digits, digitOf)

/** Returns one line of plain text without spaces around it. */
export const plainLine = (value: string): string => plain(value).trim()

const unseen = /(?! )[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zs}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB]/gu

/** Returns the distinct characters of a text that cannot be seen or look like a space, as in `U+200B`. */
export const unseenIn = (value: string): ReadonlyArray<string> =>
  Array.from(
    new Set(value.match(unseen)),
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`
  )
