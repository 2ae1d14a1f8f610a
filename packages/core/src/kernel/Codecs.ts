/**
 * How the service converts its own values: rows of the database to core's types, and results of operations to JSON.
 *
 * A codec applies the transformations of a schema without its checks, because the service checked these values before it
 * stored them. It returns what the schema does, except that an object with a tag that only a newer version knows stays unchanged.
 */
import { Option, Schema, SchemaAST } from "effect"
import { converterOf, valuesConverterOf } from "./Codecs/Derived.ts"

/** A schema whose codecs need no services. */
export type OwnSchema = Schema.Codec<unknown, unknown>

/** A struct of such schemas, such as the columns of a list. */
export type OwnStruct = Schema.Struct<Readonly<Record<string, OwnSchema>>>

/** Makes a codec on its first call, because a command uses few of them. If it throws, the error of the schema names the field. */
const codecOf = <A, B>(derive: () => Option.Option<(value: A) => B>, check: (value: A) => unknown): (value: A) => B => {
  let convert: ((value: A) => B) | undefined
  return (value) => {
    convert ??= Option.getOrThrowWith(derive(), () => new Error("No codec can be derived from a part of the schema."))
    try {
      return convert(value)
    } catch (defect) {
      check(value)
      throw defect
    }
  }
}

/** Makes the function that decodes an own value. */
export const decoder = <S extends OwnSchema>(schema: S): (stored: unknown) => S["Type"] =>
  codecOf<unknown, unknown>(() => converterOf(schema.ast), (stored) => Schema.decodeUnknownSync(schema)(stored))

/** Makes the function that encodes an own value. */
export const encoder = <S extends OwnSchema>(schema: S): (own: S["Type"]) => S["Encoded"] =>
  codecOf<unknown, unknown>(
    () => converterOf(SchemaAST.flip(schema.ast)),
    (own) => Schema.encodeUnknownSync(schema)(own)
  )

/** Makes the function that decodes an object from the values of its fields, in the order of the schema. All are required. */
export const valuesDecoder = <S extends OwnStruct>(schema: S): (values: ReadonlyArray<unknown>) => S["Type"] => {
  const names = Object.keys(schema.fields)
  return codecOf<ReadonlyArray<unknown>, unknown>(
    () => valuesConverterOf(schema.ast),
    (values) => Schema.decodeUnknownSync(schema)(Object.fromEntries(names.map((name, place) => [name, values[place]])))
  ) as (values: ReadonlyArray<unknown>) => S["Type"]
}
