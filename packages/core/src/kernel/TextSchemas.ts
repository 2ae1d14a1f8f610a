/** Text schemas: text that is stored, trimmed where it is one line, with its limits in the JSON Schema. */
import { type JsonSchema, Schema, SchemaGetter } from "effect"
import { normalizing } from "./Normalizing.ts"
import { plainLine } from "./PlainText.ts"
import { isStorable } from "./Text.ts"

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
