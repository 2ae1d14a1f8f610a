/**
 * Finds the keys that requests present, and counts their requests.
 *
 * The count is one statement, so that check and count are atomic and use the database's clock. With a full disk it
 * fails, and reads must still work: then the statement only finds the key, and `LocalWindows.ts` counts its requests.
 */
import { Scope, window_seconds } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { key_roles } from "@messaging-crm/core/Members"
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { At } from "../database/Columns.ts"
import { rows } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"
import { orLocally, type Presented } from "./LocalWindows.ts"

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
export type MeteredRow = typeof MeteredRow.Type

const metered = rows(MeteredRow)

/** The key of a presented digest, if it may be used. */
const usable = `
  SELECT k.id, k.organization_id, k.created_by, k.scopes
  FROM api_keys k
  JOIN members m ON m.organization_id = k.organization_id AND m.id = k.created_by
  WHERE k.digest = p.digest AND k.revoked_at IS NULL AND k.expires_at > now()
    AND m.left_at IS NULL AND m.role IN (${key_roles.map((role) => `'${role}'`).join(", ")})
  LIMIT 1
`

const window_interval = `interval '${window_seconds} s'`

/** Finds keys and counts their requests. Those of one key that share the statement are counted one after the other. */
const count_keys = `
  WITH usable AS (
    SELECT k.*, p.place, p.request_limit
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS p (digest, request_limit, place)
    CROSS JOIN LATERAL (${usable}) AS k
  ), counted AS (
    INSERT INTO api_key_windows AS w (key_id, opened_at, count)
    SELECT id, now(), count(*) FROM usable GROUP BY id ORDER BY id
    ON CONFLICT (key_id) DO UPDATE SET
      count = CASE WHEN w.opened_at <= now() - ${window_interval} THEN 0 ELSE w.count END + excluded.count,
      opened_at = CASE WHEN w.opened_at <= now() - ${window_interval} THEN now() ELSE w.opened_at END
    RETURNING key_id, count, opened_at
  )
  SELECT u.place::integer AS place, u.id AS key_id, u.organization_id, u.created_by, u.scopes,
    least(c.count - count(*) OVER same + row_number() OVER earlier, u.request_limit + 1)::integer AS count,
    c.opened_at = now() AND row_number() OVER earlier = 1 AS opens_window,
    c.opened_at + ${window_interval} AS window_ends_at, now() AS now
  FROM usable u
  JOIN counted c ON c.key_id = u.id
  WINDOW same AS (PARTITION BY u.id), earlier AS (PARTITION BY u.id ORDER BY u.place)
`

/** Finds keys without counting. It has the parameters of `count_keys`. */
const find_keys = `
  SELECT p.place::integer AS place, k.id AS key_id, k.organization_id, k.created_by, k.scopes, 0 AS count,
    false AS opens_window, now() AS window_ends_at, now() AS now
  FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS p (digest, request_limit, place)
  CROSS JOIN LATERAL (${usable}) AS k
`

/** Returns the function that finds a presented key and counts the request. */
export const make = (sql: SqlClient.SqlClient) => {
  const shared = (statement: string) =>
    StatementBatcher.make(
      sql,
      Effect.fnUntraced(function*(presented: ReadonlyArray<Presented>) {
        const parameters = [presented.map(({ digest }) => digest), presented.map(({ limit }) => limit)]
        const found = yield* metered(sql.unsafe(statement, parameters))
        const results = presented.map((): Option.Option<MeteredRow> => Option.none())
        for (const each of found) results[each.place - 1] = Option.some(each)
        return results
      })
    )

  return orLocally(shared(count_keys), shared(find_keys))
}
