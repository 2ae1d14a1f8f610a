/** Decodes the rows that a statement returns into core's types. */
import { Array, Effect, type Option, Schema } from "effect"
import type { SqlError } from "effect/sql"

/** A statement. Its database errors become defects. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Makes a function that runs a statement and decodes every row. */
export const rows = <S extends Schema.Constraint & { readonly DecodingServices: never }>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.orDie(Effect.flatMap(statement, decode))
}

/** Makes a function that runs a statement and decodes its first row, if there is one. */
export const first = <S extends Schema.Constraint & { readonly DecodingServices: never }>(schema: S) => {
  const decode = rows(schema)
  return (statement: Statement): Effect.Effect<Option.Option<S["Type"]>> => Effect.map(decode(statement), Array.head)
}

/** Runs a statement and returns the number of rows. */
export const count = (statement: Statement): Effect.Effect<number> =>
  Effect.orDie(Effect.map(statement, (found) => found.length))
