/**
 * How the service converts its own values: rows of the database to core's types, and results of operations to JSON.
 *
 * The default is the schema itself. `@messaging-crm/fast` has codecs that skip the schema's checks, because the service
 * checked these values before it stored them. A stored object with a tag that only a newer version knows is a defect by
 * default, and unchanged with these codecs.
 */
import { Context, DateTime, Effect, Schema, SchemaGetter } from "effect"

/** A schema whose codecs need no services. */
export type OwnSchema = Schema.Codec<unknown, unknown>

/** A struct of such schemas, such as the columns of a list. */
export type OwnStruct = Schema.Struct<Readonly<Record<string, OwnSchema>>>

/** Decodes and encodes own values. A value that does not match its schema is a defect, or is not detected by fast codecs. */
export interface CodecFunctions {
  readonly decode: <S extends OwnSchema>(schema: S) => (stored: unknown) => Effect.Effect<S["Type"]>
  readonly encode: (schema: OwnSchema) => (own: unknown) => Effect.Effect<unknown>
  /**
   * Returns the function that makes an object of the values of its fields, in the order of the schema; null if
   * objects have to be decoded by the names of their fields.
   */
  readonly decodeValues: <S extends OwnStruct>(schema: S) => ((values: ReadonlyArray<unknown>) => S["Type"]) | null
  /** Returns the time that is the given number of milliseconds after the Unix epoch. */
  readonly time: (millis: number) => DateTime.Utc
}

/** The codecs of Effect's schemas. */
export const checked: CodecFunctions = {
  decode: (schema) => {
    const decode = Schema.decodeUnknownEffect(schema)
    return (stored) => Effect.orDie(decode(stored))
  },
  encode: (schema) => {
    const encode = Schema.encodeUnknownEffect(schema)
    return (own) => Effect.orDie(encode(own))
  },
  decodeValues: () => null,
  time: DateTime.makeUnsafe
}

/** The codecs that this process uses. */
export const Codecs = Context.Reference<CodecFunctions>("@messaging-crm/core/Codecs", { defaultValue: () => checked })

/** Makes the getter of a decoding that only normalizes, such as trimming, and is idempotent. */
export const normalizing = <A>(normalize: (value: A) => A): SchemaGetter.Getter<A, A> =>
  Object.assign(SchemaGetter.transform(normalize), { isNormalizing: true })

/** Returns whether a getter only normalizes, so that decoding an own value may leave it out. */
export const isNormalizing = (getter: object): boolean => "isNormalizing" in getter
