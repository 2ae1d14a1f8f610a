import { SecretCanaryStore } from "@messaging-crm/core/SecretCanary"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { first, run } from "../database/RowCodecs.ts"

const canary = first(Schema.Struct({ sealed: Schema.String }))

/** Layer that keeps the canary in PostgreSQL. */
export const layer = Layer.effect(
  SecretCanaryStore,
  SqlClient.SqlClient.useSync((sql) =>
    SecretCanaryStore.of({
      find: Effect.map(canary(sql`SELECT sealed FROM secret_canary`), Option.map(({ sealed }) => sealed)),
      insert: (sealed) => run(sql`INSERT INTO secret_canary (sealed) VALUES (${sealed}) ON CONFLICT DO NOTHING`),
      replace: (before, after) => run(sql`UPDATE secret_canary SET sealed = ${after} WHERE sealed = ${before}`)
    })
  )
)
