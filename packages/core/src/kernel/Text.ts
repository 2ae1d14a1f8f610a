import { type JsonSchema, Order, Schema, SchemaGetter } from "effect"
import { limits } from "./Limits.ts"

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")
const storable = "well-formed text without U+0000"

/**
 * Schema for text every adapter can store and hand back unchanged.
 *
 * PostgreSQL rejects U+0000 and unpaired surrogates in `text`, a JavaScript
 * `Map` does not. Refusing both here keeps the two adapters in agreement.
 */
export const Text = Schema.String.check(
  Schema.makeFilter(isStorable, { expected: storable, toJsonSchema: () => ({}) })
)

/** A check that refuses nothing, and says as JSON Schema what is checked elsewhere. */
export const checkedElsewhere = (said: JsonSchema.JsonSchema) =>
  Schema.makeFilter<string>(() => true, { toJsonSchema: () => said })

/**
 * Schema for text of `min` to `max` characters, counted as Unicode code points
 * as PostgreSQL's `char_length` does, not as UTF-16 units.
 */
export const text = ({ max, min }: { readonly min: number; readonly max: number }) =>
  Text.check(
    Schema.isBetweenCodePoints(min, max, {
      toJsonSchema: () => ({ ...(min === 0 ? {} : { minLength: min }), maxLength: max })
    })
  )

/** Schema for text kept as it was sent, of which something must be visible. */
export const visibleText = (options: { readonly min: number; readonly max: number }) =>
  text(options).check(
    Schema.makeFilter((value: string) => value.trim() !== "", {
      expected: "more than white space",
      toJsonSchema: () => ({ pattern: "\\S" })
    })
  )

/** What a schema for text says of it as JSON Schema, beyond that it is text. */
const saidOf = (shape: Schema.Constraint) => {
  const { type: _type, ...rest } = Schema.toJsonSchemaDocument(shape).schema
  return rest
}

/** Schema for text before it is trimmed. Its bounds hold for what is left, so here they are said and not checked. */
const untrimmed = (said: JsonSchema.JsonSchema) => Text.check(checkedElsewhere(said))

/** Schema for one line of text that is trimmed before it is measured. */
export const trimmedText = (options: { readonly min: number; readonly max: number }) =>
  untrimmed({ ...saidOf(text(options)), ...(options.min === 0 ? {} : { pattern: "\\S" }) }).pipe(
    Schema.decodeTo(text(options), {
      decode: SchemaGetter.transform((value: string) => value.trim()),
      encode: SchemaGetter.passthrough()
    })
  )

/** Schema for an optional line: trimmed, and null when nothing is left of it. */
export const line = (max: number) => lineOf(text({ min: 1, max }))

/** Schema for an optional line of a particular shape: trimmed, null when empty, else checked. */
export const lineOf = <S extends Schema.Codec<string, string>>(shape: S) =>
  unlessBlank(shape, (value: string) => value.trim())

/** Schema for optional text kept as it was sent, and null when it is blank. */
export const passage = (max: number) => unlessBlank(text({ min: 1, max }), (value: string) => value)

const unlessBlank = <S extends Schema.Codec<string, string>>(shape: S, kept: (value: string) => string) => {
  const { minLength = 0, ...rest } = saidOf(shape)
  // An empty text is null, so the least length is that of what is visible.
  const said = Number(minLength) > 1
    ? { pattern: `^\\s*(?:\\S[\\s\\S]{${Number(minLength) - 2},}\\S)?\\s*$`, ...rest }
    : rest
  return Schema.NullOr(untrimmed(said)).pipe(
    Schema.decodeTo(Schema.NullOr(shape), {
      decode: SchemaGetter.transform((value: string | null) =>
        value === null || value.trim() === "" ? null : kept(value)
      ),
      encode: SchemaGetter.passthrough({ strict: false })
    })
  )
}

/**
 * Returns the key under which two texts count as the same "regardless of case".
 *
 * Three conversions, because `toLowerCase` alone keeps `Straße` and `STRASSE`
 * apart. Folding happens here and the key is stored: an adapter never calls
 * `lower()`, whose answer depends on the database's locale.
 */
export const foldCase = (value: string): string =>
  value.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC")

/**
 * Order of two texts by code point, which is PostgreSQL's `COLLATE "C"`.
 *
 * JavaScript's `<` compares UTF-16 units and so puts U+FFFD after U+1F600.
 */
export const byCodePoint: Order.Order<string> = Order.mapInput(
  Order.Array(Order.Number),
  (value: string) => Array.from(value, (character) => character.codePointAt(0) ?? 0)
)

/** Returns the first characters of a text, as many as a preview shows, never half a character. */
export const preview = (value: string): string => Array.from(value).slice(0, limits.preview_chars_max).join("")
