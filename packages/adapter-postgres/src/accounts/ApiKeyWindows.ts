/**
 * Finds the keys that requests present, and counts their requests.
 *
 * The count is one statement, so that check and count are atomic. It uses the database's clock, unlike the rest of the
 * adapter: with the clocks of processes, which differ, each would end a key's window at another time. With a full disk it
 * fails, and reads must still work: then the statement only finds the key, and `LocalWindows.ts` counts its requests.
 */
import { Scope, window_seconds } from "@messaging-crm/core/ApiKeys"
import { Country } from "@messaging-crm/core/Countries"
import { ApiKeyId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { key_roles } from "@messaging-crm/core/Members"
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { At, rows } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"
import { orLocally, type Presented } from "./LocalWindows.ts"

const MeteredRow = Schema.Struct({
  ordinal: Schema.Int,
  key_id: ApiKeyId,
  organization_id: OrganizationId,
  created_by: MemberId,
  scopes: Schema.Array(Scope),
  default_country: Schema.NullOr(Country),
  count: Schema.Int,
  opens_window: Schema.Boolean,
  window_ends_at: At,
  now: At
})
export type MeteredRow = typeof MeteredRow.Type

const meteredKeys = rows(MeteredRow)

/** The key of a presented digest, if it may be used. */
const usable = `
  SELECT key.id, key.organization_id, key.created_by, key.scopes, organization.default_country
  FROM api_keys key
  JOIN organizations organization ON organization.id = key.organization_id
  JOIN members member ON member.organization_id = key.organization_id AND member.id = key.created_by
  WHERE key.digest = presented.digest AND key.revoked_at IS NULL AND key.expires_at > now()
    AND member.left_at IS NULL AND member.role IN (${key_roles.map((role) => `'${role}'`).join(", ")})
  LIMIT 1
`

const duration = `interval '${window_seconds} s'`

/** Finds keys and counts their requests. Those of one key that share the statement are counted one after the other. */
const count_requests = `
  WITH usable AS (
    SELECT key.*, presented.ordinal, presented.request_limit
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS presented (digest, request_limit, ordinal)
    CROSS JOIN LATERAL (${usable}) AS key
  ), counted AS (
    INSERT INTO api_key_windows AS stored (key_id, opened_at, count)
    SELECT id, now(), count(*) FROM usable GROUP BY id ORDER BY id
    ON CONFLICT (key_id) DO UPDATE SET
      count = CASE WHEN stored.opened_at <= now() - ${duration} THEN 0 ELSE stored.count END + excluded.count,
      opened_at = CASE WHEN stored.opened_at <= now() - ${duration} THEN now() ELSE stored.opened_at END
    RETURNING key_id, count, opened_at
  )
  SELECT ordinal::integer AS ordinal, id AS key_id, organization_id, created_by, scopes, default_country,
    least(counted.count - count(*) OVER same + row_number() OVER earlier, request_limit + 1)::integer AS count,
    opened_at = now() AND row_number() OVER earlier = 1 AS opens_window,
    opened_at + ${duration} AS window_ends_at, now() AS now
  FROM usable
  JOIN counted ON key_id = id
  WINDOW same AS (PARTITION BY id), earlier AS (PARTITION BY id ORDER BY ordinal)
`

/** Finds keys without counting. It has the parameters of `count_requests`. */
const find_keys = `
  SELECT presented.ordinal::integer AS ordinal, key.id AS key_id, key.organization_id, key.created_by, key.scopes,
    key.default_country, 0 AS count, false AS opens_window, now() AS window_ends_at, now() AS now
  FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS presented (digest, request_limit, ordinal)
  CROSS JOIN LATERAL (${usable}) AS key
`

/** Returns the function that finds a presented key and counts the request. */
export const make = (sql: SqlClient.SqlClient) => {
  const shared = (statement: string) =>
    StatementBatcher.make(
      sql,
      Effect.fnUntraced(function*(presented: ReadonlyArray<Presented>) {
        const parameters = [presented.map(({ digest }) => digest), presented.map(({ limit }) => limit)]
        const found = yield* meteredKeys(sql.unsafe(statement, parameters))
        const results = presented.map((): Option.Option<MeteredRow> => Option.none())
        for (const each of found) results[each.ordinal - 1] = Option.some(each)
        return results
      })
    )

  return orLocally(shared(count_requests), shared(find_keys))
}
