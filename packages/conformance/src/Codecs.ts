/** Properties of codecs: they convert a value of the service exactly as its schema does. */
import { assert, it } from "@effect/vitest"
import { decoder, encoder, type OwnSchema as Codec, type OwnStruct, valuesDecoder } from "@messaging-crm/core/Codecs"
import { Arbitrary, Option, Predicate, Schema, Struct } from "effect"
import { hardText } from "./Arbitraries.ts"

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) && Object.getPrototypeOf(value) === Object.prototype

/** Returns a value with a field more in each of its objects. */
const withExcess = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withExcess)
  if (!isPlain(value)) return value
  return { ...Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withExcess(child)])), excess: "x" }
}

type Whole = Readonly<Record<string, unknown>>

const replaced = (whole: Whole, key: string, part: unknown): Whole =>
  // An array is indexed by its keys as an object is.
  Array.isArray(whole) ? Object.assign([...whole], { [key]: part }) : { ...whole, [key]: part }

/** Returns a value with hard text instead of each of its texts where `fits` allows it. */
const hardened = (value: unknown, text: string, fits: (value: unknown) => boolean): unknown => {
  if (typeof value === "string") return fits(text) ? text : value
  if (!Array.isArray(value) && !isPlain(value)) return value
  let whole = Object(value) as Whole
  for (const key of Object.keys(value)) {
    const before = whole
    whole = replaced(before, key, hardened(before[key], text, (part) => fits(replaced(before, key, part))))
  }
  return whole
}

/** Returns the values in which one member, at any depth, is null, undefined, or absent. */
const edgesOf = (value: unknown): ReadonlyArray<unknown> => {
  if (!Array.isArray(value) && !isPlain(value)) return []
  const whole = Object(value) as Whole
  return Object.entries(whole).flatMap(([key, member]) => [
    ...(Array.isArray(value) ? [] : [Struct.omit(whole, [key])]),
    ...[null, undefined, ...edgesOf(member)].map((part) => replaced(whole, key, part))
  ])
}

const text = hardText({ min: 0, max: 20 })

/** Values of one side of a schema. A generated text can be blank after trimming, which its schema rejects. */
const acceptedBy = <A>(codec: Codec, values: Arbitrary.Arbitrary<A>, given: (value: A) => unknown) => {
  const check = Schema.decodeUnknownOption(codec)
  return Arbitrary.filter(values, (value) => Option.isSome(check(given(value))))
}

const compare = (codec: Codec, convert: (own: unknown) => unknown, given: unknown, text: string) => {
  const check = Schema.decodeUnknownOption(codec)
  const encode = Schema.encodeSync(codec)
  const hard = hardened(given, text, (value) => Option.isSome(check(value)))
  // What was decoded before is in its normal form: trimmed, an ID in lower case.
  const own = withExcess(encode(Option.getOrThrow(check(hard))))
  const checked = Option.getOrThrow(check(own))
  assert.deepStrictEqual(convert(own), checked)
  assert.strictEqual(JSON.stringify(convert(own)), JSON.stringify(checked))
}

/** Compares the conversions of those edges of a value that the schema accepts. */
const compareEdges = (codec: Codec, convert: (own: unknown) => unknown, given: unknown) => {
  const check = Schema.decodeUnknownOption(codec)
  for (const edge of edgesOf(Schema.encodeSync(codec)(Option.getOrThrow(check(given))))) {
    const checked = check(edge)
    if (Option.isNone(checked)) continue
    assert.deepStrictEqual(convert(edge), checked.value)
    assert.strictEqual(JSON.stringify(convert(edge)), JSON.stringify(checked.value))
  }
}

/** Each value has many edges. */
const edge_runs = { arbitrary: { runs: 10 } }

const decodingWith = (name: string, schema: Codec, convert: (own: unknown) => unknown) => {
  const encode = Schema.encodeSync(schema)
  const value = acceptedBy(schema, Arbitrary.schema(schema), encode)
  it.prop(name, { value, text }, ({ text, value }) => compare(schema, convert, encode(value), text))
  it.prop(
    `${name}, with members that are null or absent`,
    { value },
    ({ value }) => compareEdges(schema, convert, encode(value)),
    edge_runs
  )
}

/** Registers the property for what a schema decodes. */
export const decoding = (name: string, schema: Codec) => decodingWith(name, schema, decoder(schema))

/** Registers the property for what a schema decodes from the values of its fields, in their order. */
export const decodingValues = (name: string, schema: OwnStruct) => {
  const decode = valuesDecoder(schema)
  const names = Object.keys(schema.fields)
  decodingWith(name, schema, (own) => decode(names.map((field) => (own as Whole)[field])))
}

/** Registers the property for what a schema encodes. */
export const encoding = (name: string, schema: Codec) => {
  const flipped = Schema.flip(schema)
  const convert = encoder(schema)
  const value = acceptedBy(flipped, Arbitrary.schema(schema), (value) => value)
  it.prop(name, { value, text }, ({ text, value }) => compare(flipped, convert, value, text))
  it.prop(
    `${name}, with members that are null or absent`,
    { value },
    ({ value }) => compareEdges(flipped, convert, value),
    edge_runs
  )
}
