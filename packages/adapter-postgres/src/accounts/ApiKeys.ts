import { ApiKey, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf, date, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"
import { isRejection } from "../database/Writable.ts"
import * as ApiKeyWindows from "./ApiKeyWindows.ts"

const Row = Schema.Struct({
  ...ApiKey.fields,
  created_at: At,
  expires_at: At,
  revoked_at: OptionalAt,
  last_used_at: OptionalAt
})
const LoadedRow = Schema.Struct({ ...Row.fields, version: Schema.Int })

const keys = rows(Row)
const loadedKeys = rows(LoadedRow)
const key = first(LoadedRow)

/** Layer that keeps API keys and their request counts in PostgreSQL. */
export const layer = Layer.effect(
  ApiKeyStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Row))

    const authenticate = ApiKeyWindows.make(sql)

    // Only for the request that opens a window, so at most once in a minute.
    const recordUse = ({ key_id, now, organization_id }: ApiKeyWindows.MeteredRow) =>
      sql`
        UPDATE api_keys SET last_used_at = ${date(now)} WHERE organization_id = ${organization_id} AND id = ${key_id}
      `.pipe(
        // If the disk is full, the request still continues.
        Effect.catchIf(isRejection, () => Effect.void),
        Effect.orDie
      )

    return ApiKeyStore.of({
      list: (organization_id) =>
        keys(sql`
          SELECT ${columns}
          FROM api_keys
          WHERE organization_id = ${organization_id}
          ORDER BY created_at DESC, id DESC
        `),
      find: (organization_id, id) =>
        key(sql`
          SELECT ${columns}, version
          FROM api_keys
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      heldBy: (organization_id, member_id) =>
        loadedKeys(sql`
          SELECT ${columns}, version
          FROM api_keys
          WHERE organization_id = ${organization_id} AND created_by = ${member_id} AND revoked_at IS NULL
        `),
      authenticate: (digest, limit) =>
        Effect.tap(
          authenticate({ digest, limit }),
          (found) => Option.isSome(found) && found.value.opens_window ? recordUse(found.value) : Effect.void
        )
    })
  })
)
