import { ApiKey, ApiKeyStore, Scope } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"
import * as Sharing from "../database/Sharing.ts"

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
  place: Schema.Int,
  key_id: ApiKeyId,
  organization_id: OrganizationId,
  created_by: MemberId,
  scopes: Schema.Array(Scope),
  count: Schema.Int,
  opens_window: Schema.Boolean,
  window_ends_at: At,
  now: At
})
const metered = rows(MeteredRow)

/** A key that a request presents. */
interface Presented {
  readonly digest: string
  /** The maximum of requests in a window. */
  readonly limit: number
}

/** Layer that keeps API keys and their request counts in PostgreSQL. */
export const layer = Layer.effect(
  ApiKeyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(
      "id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at"
    )

    // One statement, so that check and count are atomic and use the database's clock. Requests of one key that share it
    // are counted one after the other.
    const count = Sharing.make(
      sql,
      Effect.fnUntraced(function*(presented: Sharing.Some<Presented>) {
        const digests = presented.map(({ digest }) => digest)
        const limits = presented.map(({ limit }) => limit)
        const found = yield* metered(sql`
          WITH usable AS (
            SELECT k.*, p.place, p.request_limit
            FROM unnest(${digests}::text[], ${limits}::integer[]) WITH ORDINALITY AS p (digest, request_limit, place)
            CROSS JOIN LATERAL (
              SELECT k.id, k.organization_id, k.created_by, k.scopes
              FROM api_keys k
              JOIN members m ON m.organization_id = k.organization_id AND m.id = k.created_by
              WHERE k.digest = p.digest AND k.revoked_at IS NULL AND k.expires_at > now()
                AND m.left_at IS NULL AND m.role IN ('owner', 'admin')
              LIMIT 1
            ) AS k
          ), counted AS (
            INSERT INTO api_key_windows AS w (key_id, opened_at, count)
            SELECT id, now(), count(*) FROM usable GROUP BY id ORDER BY id
            ON CONFLICT (key_id) DO UPDATE SET
              count = CASE WHEN w.opened_at <= now() - interval '60 s' THEN 0 ELSE w.count END + excluded.count,
              opened_at = CASE WHEN w.opened_at <= now() - interval '60 s' THEN now() ELSE w.opened_at END
            RETURNING key_id, count, opened_at
          )
          SELECT u.place::integer AS place, u.id AS key_id, u.organization_id, u.created_by, u.scopes,
            least(c.count - count(*) OVER same + row_number() OVER earlier, u.request_limit + 1)::integer AS count,
            c.opened_at = now() AND row_number() OVER earlier = 1 AS opens_window,
            c.opened_at + interval '60 s' AS window_ends_at, now() AS now
          FROM usable u
          JOIN counted c ON c.key_id = u.id
          WINDOW same AS (PARTITION BY u.id), earlier AS (PARTITION BY u.id ORDER BY u.place)
        `)
        const answers = presented.map((): Option.Option<typeof MeteredRow.Type> => Option.none())
        for (const each of found) answers[each.place - 1] = Option.some(each)
        return answers
      })
    )

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
          count({ digest, limit }),
          (found) => Option.isSome(found) && found.value.opens_window ? recordUse(found.value) : Effect.void
        )
    })
  })
)
