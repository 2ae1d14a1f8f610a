/** Codecs that apply a schema's transformations without its checks; for a schema that is not supported, the schema itself. */
import { checked, type CodecFunctions, Codecs, type OwnSchema, type OwnStruct } from "@messaging-crm/core/Codecs"
import { Effect, Layer, Option, SchemaAST } from "effect"
import type { Converter } from "./Converter.ts"
import { converterOf, valuesConverterOf } from "./Derived.ts"
import { fromMillis } from "./Times.ts"

/** Derives from each schema once, when it is first used. */
const cached = <S extends OwnSchema, A>(derive: (schema: S) => A) => {
  const known = new WeakMap<object, A>()
  return (schema: S): A => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const made = derive(schema)
    known.set(schema, made)
    return made
  }
}

/** Returns the derived function, or otherwise the schema's. If the derived function throws, the schema's error names the field. */
const derivedOr = (
  converter: Option.Option<Converter>,
  otherwise: (value: unknown) => Effect.Effect<unknown>
) =>
  Option.match(converter, {
    onNone: () => otherwise,
    onSome: (convert) => (value: unknown) =>
      Effect.suspend(() => {
        try {
          return Effect.succeed(convert(value))
        } catch (defect) {
          return Effect.andThen(otherwise(value), Effect.die(defect))
        }
      })
  })

/** The derived codecs. They return what the schema does, but objects with an unknown tag unchanged. */
export const fast: CodecFunctions = {
  // `cached` loses the schema's type parameter.
  decode: cached((schema) => derivedOr(converterOf(schema.ast), checked.decode(schema))) as CodecFunctions["decode"],
  encode: cached((schema) => derivedOr(converterOf(SchemaAST.flip(schema.ast)), checked.encode(schema))),
  // As for `decode`.
  decodeValues: cached((schema: OwnStruct) =>
    Option.getOrNull(valuesConverterOf(schema.ast))
  ) as CodecFunctions["decodeValues"],
  time: fromMillis
}

/** Returns whether a schema has a derived codec. */
export const isDerived = ({ ast }: OwnSchema): boolean => Option.isSome(converterOf(ast))

/** Layer that makes a process use these codecs. */
export const layer = Layer.succeed(Codecs, fast)
