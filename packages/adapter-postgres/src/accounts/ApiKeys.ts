import { ApiKey, ApiKeyStore, Scope } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const Row = Schema.Struct({
  ...ApiKey.fields,
  created_at: At,
  expires_at: At,
  revoked_at: OptionalAt,
  last_used_at: OptionalAt
})

const keys = rows(Row)
const LoadedRow = Schema.Struct({ ...Row.fields, version: Schema.Int })

const loaded = rows(LoadedRow)
const key = first(LoadedRow)
const metered = first(Schema.Struct({
  key_id: ApiKeyId,
  organization_id: OrganizationId,
  created_by: MemberId,
  scopes: Schema.Array(Scope),
  count: Schema.Int,
  window_ends_at: At,
  now: At
}))

/** Layer that keeps API keys and their request counts in PostgreSQL. */
export const layer = Layer.effect(
  ApiKeyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(
      "id, name, last_four, scopes, created_by, created_at, expires_at, revoked_at, last_used_at"
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
        loaded(sql`
          SELECT ${columns}, version
          FROM api_keys
          WHERE organization_id = ${organization_id} AND created_by = ${member_id} AND revoked_at IS NULL
        `),
      // One statement, so that check and count are atomic and use the database's clock.
      authenticate: (digest, limit) =>
        metered(sql`
          WITH usable AS (
            SELECT api_keys.id, api_keys.organization_id, api_keys.created_by, api_keys.scopes
            FROM api_keys
            JOIN members ON members.organization_id = api_keys.organization_id AND members.id = api_keys.created_by
            WHERE api_keys.digest = ${digest}
              AND api_keys.revoked_at IS NULL
              AND api_keys.expires_at > now()
              AND members.left_at IS NULL
              AND members.role IN ('owner', 'admin')
          ), counted AS (
            INSERT INTO api_key_windows AS w (key_id, opened_at, count)
            SELECT id, now(), 1 FROM usable
            ON CONFLICT (key_id) DO UPDATE SET
              count = CASE
                WHEN w.opened_at <= now() - interval '60 s' THEN 1
                ELSE least(w.count + 1, ${limit}::integer + 1)
              END,
              opened_at = CASE WHEN w.opened_at <= now() - interval '60 s' THEN now() ELSE w.opened_at END
            RETURNING count, opened_at
          ), used AS (
            -- Only the request that opens a window writes, so at most one in a minute.
            UPDATE api_keys
            SET last_used_at = counted.opened_at
            FROM counted, usable
            WHERE counted.opened_at = now()
              AND api_keys.organization_id = usable.organization_id AND api_keys.id = usable.id
          )
          SELECT usable.id AS key_id, usable.organization_id, usable.created_by, usable.scopes, counted.count,
            counted.opened_at + interval '60 s' AS window_ends_at, now() AS now
          FROM usable, counted
        `)
    })
  })
)
