/**
 * The API keys of an organization that a database does not have any more, or does not have yet, and their request counters.
 *
 * Their digests are written in other letters, so that no request finds them, and the authentication needs no condition.
 */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { MovedTable } from "./MovedTables.ts"

const [letters, hidden_letters] = ["0123456789abcdef", "ghijklmnopqrstuv"]

/** The SQL expression of a hidden digest. One that is hidden already stays as it is. */
export const hidden = `translate(digest, '${letters}', '${hidden_letters}')`

/** Whether a column has the digests of keys. */
export const isDigest = ({ name }: MovedTable, column: string): boolean => name === "api_keys" && column === "digest"

/** Hides all keys of an organization, or shows them again. */
export const set = (organization_id: OrganizationId, isHidden: boolean) =>
  SqlClient.SqlClient.use((sql) => {
    const [from, to] = isHidden ? [letters, hidden_letters] : [hidden_letters, letters]
    return sql`
      UPDATE api_keys SET digest = translate(digest, ${from}, ${to}) WHERE organization_id = ${organization_id}
    `
  })

/** Returns whether a key with a digest is one of an organization that is leaving the database, or arriving in it. */
export const has = Effect.fnUntraced(function*(digest: string) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`
    SELECT FROM api_keys WHERE digest = translate(${digest}, ${letters}, ${hidden_letters})
  `
  return found.length > 0
})

/** Returns the request counters of an organization's keys as JSON. */
export const loadCounters = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly json: string }>`
    SELECT coalesce(json_agg(counted), '[]')::text AS json
    FROM api_key_windows counted
    WHERE key_id IN (SELECT id FROM api_keys WHERE organization_id = ${organization_id})
  `
  return found?.json ?? "[]"
})

/** Stores request counters. */
export const storeCounters = (json: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql`INSERT INTO api_key_windows SELECT * FROM json_populate_recordset(NULL::api_key_windows, ${json}::json)`
  )

/** Removes the request counters of an organization's keys. */
export const removeCounters = (organization_id: OrganizationId) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      DELETE FROM api_key_windows
      WHERE key_id IN (SELECT id FROM api_keys WHERE organization_id = ${organization_id})
    `
  )
