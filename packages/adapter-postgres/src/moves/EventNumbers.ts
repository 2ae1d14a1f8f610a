/**
 * The numbers of events in the database to which they move.
 *
 * The order of events is that of the numbers of their transactions, and each server counts its own. So an event gets another
 * number, in the same order, below those of the new database. Events whose IDs are in that order share a number, because the
 * order of one number is that of the IDs. An event keeps its earlier numbers, which the cursors of followers name.
 */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { MovedTable } from "./MovedTables.ts"

/** The first number of a database's transactions. */
const first_number = 3

/** Whether a table has numbers of a database. */
export const hasNumbers = ({ name }: MovedTable): boolean => name === "webhook_events"

/** Whether a column has them. */
export const isNumber = (table: MovedTable, column: string): boolean =>
  hasNumbers(table) && (column === "committed_in" || column === "earlier_commits")

/** Selects columns of events with new numbers: one whose ID is not above that of the event before it gets the next number. */
export const selectNumbered = (columns: string, events: string): string => `
  SELECT ${columns},
    (${first_number} + sum(is_next) OVER (ORDER BY committed_in, id))::text::xid8 AS committed_in,
    coalesce(earlier_commits, '{}') || committed_in AS earlier_commits
  FROM (
    SELECT *, CASE WHEN id > lag(id) OVER (ORDER BY committed_in, id) THEN 0 ELSE 1 END AS is_next
    FROM (${events}) stored
  ) stored
`

/** Returns the order of the events, for a comparison. */
export const order = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly ids: string }>`
    SELECT md5(coalesce(string_agg(id::text, '' ORDER BY committed_in, id), '')) AS ids
    FROM webhook_events
    WHERE organization_id = ${organization_id}
  `
  return found?.ids ?? ""
})

/** Starts transactions until their numbers are above those of the events. Only a database that is almost new needs any. */
export const exceed = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [highest] = yield* sql<{ readonly number: number }>`
    SELECT coalesce(max(committed_in)::text::float8, 0) AS number
    FROM webhook_events
    WHERE organization_id = ${organization_id}
  `
  const next = sql<{ readonly number: number }>`SELECT pg_current_xact_id()::text::float8 AS number`
  yield* Effect.repeat(next, { until: ([found]) => (found?.number ?? 0) > (highest?.number ?? 0) })
})
