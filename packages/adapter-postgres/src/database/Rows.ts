/** How what a statement returns becomes rows of core. */
import { Array, Effect, type Option, Schema } from "effect"
import type { SqlError } from "effect/sql"

/** A statement, or what is left of one. What goes wrong with the database is a defect. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Returns what decodes every row of a statement. */
export const rows = <S extends Schema.Constraint & { readonly DecodingServices: never }>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.orDie(Effect.flatMap(statement, decode))
}

/** Returns what decodes the first row of a statement, if it has one. */
export const first = <S extends Schema.Constraint & { readonly DecodingServices: never }>(schema: S) => {
  const decode = rows(schema)
  return (statement: Statement): Effect.Effect<Option.Option<S["Type"]>> => Effect.map(decode(statement), Array.head)
}

/** Returns how many rows a statement returned. */
export const count = (statement: Statement): Effect.Effect<number> =>
  Effect.orDie(Effect.map(statement, (found) => found.length))
