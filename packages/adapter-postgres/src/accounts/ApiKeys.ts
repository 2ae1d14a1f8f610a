import { ApiKey, ApiKeyStore, Scope } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, OptionalAt } from "../database/Columns.ts"
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
const MeteredRow = Schema.Struct({
  key_id: ApiKeyId,
  organization_id: OrganizationId,
  created_by: MemberId,
  scopes: Schema.Array(Scope),
  count: Schema.Int,
  opens_window: Schema.Boolean,
  window_ends_at: At,
  now: At
})
const metered = first(MeteredRow)

/** Layer that keeps API keys and their request counts in PostgreSQL. */
export const layer = Layer.effect(
  ApiKeyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(
      "id, name, last_four, scopes, created_by, created_at, expires_at, revoked_at, last_used_at"
    )

    // One statement, so that check and count are atomic and use the database's clock.
    const count = (digest: string, limit: number) =>
      metered(sql`
        WITH usable AS (
          SELECT k.id, k.organization_id, k.created_by, k.scopes
          FROM api_keys k
          JOIN members m ON m.organization_id = k.organization_id AND m.id = k.created_by
          WHERE k.digest = ${digest} AND k.revoked_at IS NULL AND k.expires_at > now()
            AND m.left_at IS NULL AND m.role IN ('owner', 'admin')
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
        )
        SELECT u.id AS key_id, u.organization_id, u.created_by, u.scopes, c.count, c.opened_at = now() AS opens_window,
          c.opened_at + interval '60 s' AS window_ends_at, now() AS now
        FROM usable u, counted c
      `)

    // Only for the request that opens a window, so at most once in a minute.
    const recordUse = ({ key_id, now, organization_id }: typeof MeteredRow.Type) =>
      Effect.orDie(sql`
        UPDATE api_keys SET last_used_at = ${date(now)} WHERE organization_id = ${organization_id} AND id = ${key_id}
      `)

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
      authenticate: (digest, limit) =>
        Effect.tap(
          count(digest, limit),
          (found) => Option.isSome(found) && found.value.opens_window ? recordUse(found.value) : Effect.void
        )
    })
  })
)
