/**
 * Text: how texts are read, measured, compared, cut, made storable, and limited. Every store gets the same result, because core
 * computes it.
 */
import { type JsonSchema, Order, Schema, SchemaGetter } from "effect"
import { normalizing } from "./Codecs.ts"
import { limits } from "./Limits.ts"

// The form in which phones, emails, and IDs are read, and in which texts are searched (contract §1.5). Programs add characters
// that cannot be seen when people copy a value, and keyboards have other digits, dashes, and spaces than ASCII. A value must not
// differ by them from the same value that was typed.

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

/** Returns whether every store can keep a text: PostgreSQL's `text` has no U+0000 and no unpaired surrogates. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

const encoder = new TextEncoder()

/** Where texts are encoded to count their bytes. A new array for each text would cost more than the encoding. */
const scratch = new Uint8Array(16_384)

/** Returns how many bytes a text has in UTF-8. */
export const utf8Bytes = (text: string): number => {
  let [bytes, end] = [0, 0]
  while (end < text.length) {
    const { read, written } = encoder.encodeInto(end === 0 ? text : text.slice(end), scratch)
    bytes += written
    end += read
  }
  return bytes
}

/** Returns text that every store can keep: NUL and unpaired surrogates become U+FFFD. */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD")

/**
 * Returns whether a text is an absolute http or https URL with a host. The parser would find a host in `https:a` too, and would
 * ignore white space around it.
 */
export const isWebUrl = (value: string): boolean =>
  /^https?:\/\/[^/?#\\]/i.test(value) && value.trim() === value && URL.canParse(value)

/**
 * Returns the key under which two texts count as the same "regardless of case".
 * The key of a text contains the keys of the texts in it, and no upper-case letter.
 *
 * Three conversions, because `toLowerCase` alone keeps `Straße` and `STRASSE` apart.
 * It also writes a sigma at the end of a word as `ς`: the only letter whose conversion
 * depends on its neighbors. Folding happens here and the key is stored: an adapter never calls
 * `lower()`, whose result depends on the database's locale.
 */
export const foldCase = (value: string): string =>
  value.toLowerCase().normalize("NFC").toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFC")

/** Returns a text with A to Z as lower-case letters, and nothing else changed: unlike `foldCase`, it keeps `ß` and `ss` apart. */
export const lowerAscii = (value: string): string => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/**
 * Order of two texts by code point, which is PostgreSQL's `COLLATE "C"`.
 *
 * JavaScript's `<` compares UTF-16 units and so puts U+FFFD after U+1F600.
 */
export const byCodePoint: Order.Order<string> = Order.mapInput(
  Order.Array(Order.Number),
  (value: string) => Array.from(value, (character) => character.codePointAt(0) ?? 0)
)

/** Returns the first characters of a text, at most `count`. The rest of a long text is not read. */
export const firstCharacters = (value: string, count: number): string =>
  // A character has at most two units.
  Array.from(value.slice(0, 2 * count)).slice(0, count).join("")

/** Returns the beginning of a text, at most as long as a preview, cut between two characters. */
export const preview = (value: string): string => firstCharacters(value, limits.preview_chars_max)

/** The text that replaces texts about a person whose data was erased. */
export const erased = "[erased]"

/**
 * Schema for text that every store can keep and return unchanged.
 *
 * PostgreSQL rejects U+0000 and unpaired surrogates in `text`, a JavaScript
 * `Map` does not. Rejecting both here keeps the two adapters in agreement.
 */
export const Text = Schema.String.check(
  Schema.makeFilter(isStorable, { expected: "well-formed text without U+0000", toJsonSchema: () => ({}) })
)

/** A check that accepts everything. It only adds to the JSON Schema, for a rule that other code enforces. */
export const jsonSchemaOnly = (schema: JsonSchema.JsonSchema) =>
  Schema.makeFilter<string>(() => true, { toJsonSchema: () => schema })

/**
 * Schema for text of `min` to `max` characters, counted as Unicode code points
 * as PostgreSQL's `char_length` does, not as UTF-16 units. It is stored unchanged.
 */
export const text = ({ max, min }: { readonly min: number; readonly max: number }) =>
  Text.check(
    Schema.isBetweenCodePoints(min, max, {
      toJsonSchema: () => ({ ...(min === 0 ? {} : { minLength: min }), maxLength: max })
    })
  )

/** Returns the JSON Schema of a schema for text, without `type`. */
const jsonSchemaOf = (shape: Schema.Constraint) => {
  const { type: _type, ...rest } = Schema.toJsonSchemaDocument(shape).schema
  return rest
}

/**
 * Schema for text before trimming. Its maximum length applies to the text as it is sent, and is rejected with both bounds. All
 * else applies after trimming, so here it is documented and not checked.
 */
const untrimmed = ({ maxLength, ...schema }: JsonSchema.JsonSchema, min: number) => {
  const bounded = maxLength === undefined ? Text : Text.check(
    Schema.isMaxCodePoints(Number(maxLength), { expected: `a string with between ${min} and ${maxLength} code points` })
  )
  return bounded.check(jsonSchemaOnly(schema))
}

/** A check that accepts what decoding leaves unchanged, for values that are made in code and never decoded. */
const isLeftBy = <A>(normalize: (value: A) => A) =>
  Schema.makeFilter((value: A) => normalize(value) === value, {
    expected: "normalized text, or null if it is blank",
    toJsonSchema: () => ({})
  })

/** Returns whether nothing of a text can be seen. */
const isBlank = (value: string): boolean => plainLine(value) === ""

const trim = (value: string): string => isBlank(value) ? "" : value.trim()

/** Returns a pattern of texts with at least so many characters after trimming. */
const visible = (min: number): string => min === 1 ? "\\S" : `\\S[\\s\\S]{${min - 2},}\\S`

/**
 * Schema for one line of text that is trimmed, or normalized otherwise. Its minimum length applies afterward, its maximum length
 * before.
 */
export const trimmedText = (options: { readonly min: number; readonly max: number }, normalize = trim) =>
  untrimmed({ maxLength: options.max, pattern: visible(options.min) }, options.min).pipe(
    Schema.decodeTo(text(options).check(isLeftBy(normalize)), {
      decode: normalizing(normalize),
      encode: SchemaGetter.passthrough()
    })
  )

/** Schema for an optional line of text: trimmed, null when empty. */
export const line = (max: number) => lineOf(text({ min: 1, max }))

/** Schema for an optional line of a particular shape: trimmed or normalized otherwise, null when empty, otherwise checked. */
export const lineOf = <S extends Schema.Codec<string, string>>(shape: S, normalize = trim) =>
  unlessBlank(shape, normalize)

/** Schema for optional text that is stored unchanged; null when it is blank. */
export const optionalText = (max: number) => unlessBlank(text({ min: 1, max }), (value: string) => value)

/** Returns a pattern that a blank text matches too, which is accepted and becomes null. One that starts with `^` allows for it. */
const orBlank = (pattern: string): string => pattern.startsWith("^") ? pattern : `^\\s*(?:${pattern})?\\s*$`

const unlessBlank = <S extends Schema.Codec<string, string>>(shape: S, normalize: (value: string) => string) => {
  const { minLength = 1, pattern = Number(minLength) > 1 ? visible(Number(minLength)) : null, ...rest } = jsonSchemaOf(
    shape
  )
  const schema = pattern === null ? rest : { pattern: orBlank(String(pattern)), ...rest }
  const nullIfBlank = (value: string | null): string | null =>
    value === null || isBlank(value) ? null : normalize(value) || null
  return Schema.NullOr(untrimmed(schema, Number(minLength))).pipe(
    Schema.decodeTo(Schema.NullOr(shape).check(isLeftBy(nullIfBlank)), {
      decode: normalizing(nullIfBlank),
      encode: SchemaGetter.passthrough({ strict: false })
    })
  )
}
