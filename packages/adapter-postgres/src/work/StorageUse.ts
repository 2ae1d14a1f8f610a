import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { date, purge, rows } from "../database/RowCodecs.ts"

const sums = rows(Schema.Struct({ bytes: Schema.Number }))

/** Layer that keeps the sums of stored bytes in PostgreSQL. */
export const layer = Layer.effect(
  StorageUseStore,
  SqlClient.SqlClient.useSync((sql) =>
    StorageUseStore.of({
      // The statement's own row is not in its snapshot.
      add: (organization_id, { bytes, expires_at }, now) =>
        Effect.map(
          sums(sql`
            WITH added AS (
              INSERT INTO storage_use AS stored (organization_id, expires_at, bytes)
              SELECT ${organization_id}::uuid, ${date(expires_at)}::timestamptz, ${bytes}::bigint
              WHERE ${bytes}::bigint > 0
              ON CONFLICT (organization_id, expires_at) DO UPDATE SET bytes = stored.bytes + excluded.bytes
            )
            SELECT coalesce(sum(bytes), 0)::float8 AS bytes
            FROM storage_use
            WHERE organization_id = ${organization_id} AND expires_at > ${date(now)}
          `),
          ([found]) => (found?.bytes ?? 0) + bytes
        ),
      purge: purge(sql, "storage_use", "expires_at")
    })
  )
)
