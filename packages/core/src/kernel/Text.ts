/** Text: how texts are measured, compared, cut, and made storable. Every store gets the same result, because core computes it. */
import { Order } from "effect"
import { limits } from "./Limits.ts"

/** Returns whether every store can keep a text: PostgreSQL's `text` has no U+0000 and no unpaired surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

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
