/** How what a statement returns becomes rows of core. */
import { trusted, TrustOwnValues } from "@messaging-crm/core/TrustedCodecs"
import { Array, Effect, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"

/** A statement, or what is left of one. What goes wrong with the database is a defect. */
type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

type Row = Schema.Codec<unknown, unknown>

/** The schema of every row that is read, for the test that compares how they are decoded. */
export const schemas: globalThis.Array<Row> = []

/** Returns what decodes every row of a statement: trusting that the database holds what fits, where that is set. */
export const rows = <S extends Row>(schema: S) => {
  schemas.push(schema)
  const all = Schema.Array(schema)
  const check = Schema.decodeUnknownEffect(all)
  // Derived from the schema, so it returns what the schema does.
  const trust = trusted(all.ast) as Option.Option<(found: unknown) => typeof all.Type>
  const decode = (found: unknown) =>
    Effect.flatMap(
      TrustOwnValues,
      (isTrusted) => isTrusted && Option.isSome(trust) ? Effect.sync(() => trust.value(found)) : check(found)
    )
  return (statement: Statement): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.orDie(Effect.flatMap(statement, decode))
}

/** Returns what decodes the first row of a statement, if it has one. */
export const first = <S extends Row>(schema: S) => {
  const decode = rows(schema)
  return (statement: Statement): Effect.Effect<Option.Option<S["Type"]>> => Effect.map(decode(statement), Array.head)
}

/** Returns how many rows a statement returned. */
export const count = (statement: Statement): Effect.Effect<number> =>
  Effect.orDie(Effect.map(statement, (found) => found.length))
