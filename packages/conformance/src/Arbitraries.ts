/** Generators that the suites share. Authors of other adapters can use them too. */
import { plainLine, Text } from "@messaging-crm/core/Text"
import { Arbitrary, DateTime, Schema } from "effect"

/**
 * Characters on which storage engines disagree: those PostgreSQL cannot hold,
 * those with a composed and a decomposed form, those whose case folding changes
 * length, those that read from the right or have no width, the highest of one
 * plane next to the lowest of the next, and those that mean something in SQL.
 */
const hardCharacters = [
  "\u0000",
  "\uD800",
  "a",
  "A",
  "_",
  "%",
  "'",
  "\\",
  "\"",
  "$1",
  "!",
  "\u00E9",
  "e\u0301",
  "\u0130",
  "\u0131",
  "\u00DF",
  "\u1E9E",
  "\u03C2",
  "\u03A3",
  "\uFB01",
  "\u212A",
  "\u05D0",
  "\u200D",
  "\uFFFD",
  "\u{1F600}"
] as const

/**
 * Text of `min` to `max` characters, made of the hard characters that `Text` accepts.
 *
 * `Arbitrary.schema` of a string with code point bounds yields printable ASCII
 * and random astral characters only, so it never generates these.
 */
export const hardText = (options: { readonly min: number; readonly max: number }) =>
  Arbitrary.array(Arbitrary.schema(Schema.Literals(hardCharacters.filter(Schema.is(Text)))), {
    minLength: options.min,
    // Some of the characters are two code points.
    maxLength: Math.floor(options.max / 2)
  }).pipe(Arbitrary.map((characters) => characters.join("")))

/** JSON text of any characters: it escapes those that no store can keep. */
export const jsonText = (options: { readonly min: number; readonly max: number }) =>
  Arbitrary.array(Arbitrary.schema(Schema.Literals(hardCharacters)), {
    minLength: options.min,
    maxLength: options.max
  }).pipe(Arbitrary.map((characters) => JSON.stringify(characters.join(""))))

/** Hard text of which something can be seen, for fields where other text counts as blank. */
export const visibleHardText = (options: { readonly min: number; readonly max: number }) =>
  Arbitrary.map(hardText(options), (text) => plainLine(text) === "" ? `${text.slice(1)}a` : text)

/** Hard text or null. */
export const optionalHardText = (options: { readonly min: number; readonly max: number }) =>
  Arbitrary.array(hardText(options), { minLength: 0, maxLength: 1 }).pipe(Arbitrary.map(([value]) => value ?? null))

/** A whole number from `min` to `max`. */
export const integer = ({ max, min }: { readonly min: number; readonly max: number }) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: min, maximum: max })))

/** A moment between 2000 and 2100, to the millisecond. */
export const moment = integer({ min: 946_684_800_000, max: 4_102_444_800_000 }).pipe(
  Arbitrary.map((millis) => DateTime.makeUnsafe(millis))
)

/** Any bytes, including those that are not valid UTF-8. */
export const bytes = Arbitrary.array(integer({ min: 0, max: 255 }), { maxLength: 64 }).pipe(
  Arbitrary.map((values) => Uint8Array.from(values))
)

/** One of the cases. It shrinks towards the first. */
export const oneOf = <A>(cases: readonly [Arbitrary.Arbitrary<A>, ...ReadonlyArray<Arbitrary.Arbitrary<A>>]) =>
  integer({ min: 0, max: cases.length - 1 }).pipe(
    Arbitrary.flatMap((index) => cases[index] ?? cases[0])
  )

/** One of the values. It shrinks towards the first. */
export const literal = <const Value extends string | number | boolean>(first: Value, ...others: ReadonlyArray<Value>) =>
  oneOf<Value>([Arbitrary.Constant(first), ...others.map((value) => Arbitrary.Constant(value))])

/** Returns a value several times, as the cases of a frequent one. */
export const times = <const Value>(count: number, value: Value): readonly [Value, ...ReadonlyArray<Value>] => [
  value,
  ...Array.from({ length: count - 1 }, () => value)
]

/** A value, or null in a third of the cases. */
export const orNull = <A>(some: Arbitrary.Arbitrary<A>) => oneOf<A | null>([Arbitrary.Constant(null), some, some])

/** A value in a quarter of the cases, otherwise null. */
export const seldom = <A>(some: Arbitrary.Arbitrary<A>) =>
  oneOf<A | null>([...times(3, Arbitrary.Constant(null)), some])

/** The arbitraries of a record's fields. */
export type Fields = Readonly<Record<string, Arbitrary.Arbitrary<unknown>>>
/** A record with one value of each field. */
export type Values<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Arbitrary.Arbitrary<infer A> ? A : never
}

/** Any subset of the fields. */
export const partial = <F extends Fields>(fields: F) => {
  const entries = Object.entries(fields).map(([key, value]) =>
    Arbitrary.map(Arbitrary.array(value, { maxLength: 1 }), (values) => values.map((single) => [key, single] as const))
  )
  // The type of `Object.entries` loses which key has which value.
  return Arbitrary.map(Arbitrary.all(entries), (kept) => Object.fromEntries(kept.flat()) as Partial<Values<F>>)
}
