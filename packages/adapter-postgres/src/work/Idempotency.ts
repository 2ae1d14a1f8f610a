import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { date } from "../database/Columns.ts"
import { count, first } from "../database/Rows.ts"

const record = first(Schema.Struct({
  fingerprint: Schema.String,
  status: Schema.Int,
  body: Schema.Uint8Array,
  sealed: Schema.Boolean,
  request_id: Schema.String
}))

/** Layer that reads idempotency records in PostgreSQL. */
export const layer = Layer.effect(
  IdempotencyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return IdempotencyStore.of({
      find: (organization_id, key) =>
        record(sql`
          SELECT fingerprint, status, body, sealed, request_id
          FROM idempotency_keys
          WHERE organization_id = ${organization_id} AND key = ${key}
        `),
      purge: (before, limit) =>
        count(sql`
          DELETE FROM idempotency_keys
          WHERE ctid = ANY(ARRAY(
            SELECT ctid
            FROM idempotency_keys
            WHERE created_at < ${date(before)}
            ORDER BY created_at
            LIMIT ${limit}
          ))
          RETURNING key
        `)
    })
  })
)
