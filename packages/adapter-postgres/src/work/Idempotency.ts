import { type IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeCommitOrTransactionClient } from "../database/CommitConnections.ts"
import { first, purge } from "../database/RowCodecs.ts"

const record = first(Schema.Struct({
  fingerprint: Schema.String,
  status: Schema.NullOr(Schema.Int),
  body: Schema.NullOr(Schema.String),
  sealed: Schema.Boolean,
  request_id: Schema.String
}))

/** Layer that reads idempotency records in PostgreSQL. */
export const layer = Layer.effect(
  IdempotencyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const committing = yield* makeCommitOrTransactionClient

    // The lock makes this a commit, which waits for the synchronous standby. After a crash, the primary can show a record
    // that the standby does not have. Its response must not be replayed until the standby has the record.
    const find = (client: SqlClient.SqlClient, organization_id: OrganizationId, key: IdempotencyKey) =>
      record(client`
        SELECT fingerprint, status, body, sealed, request_id
        FROM idempotency_keys
        WHERE organization_id = ${organization_id} AND key = ${key}
        FOR KEY SHARE
      `)

    return IdempotencyStore.of({
      find: (organization_id, key) => Effect.flatMap(committing, (client) => find(client, organization_id, key)),
      purge: purge(sql, "idempotency_keys", "created_at")
    })
  })
)
