/** The stored lanes of the work queue, in states that a test reaches only after many claims. */
import type { WorkKind } from "@messaging-crm/core/WorkQueue"
import { type DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

/** Returns when a claim checks a lane next; none for a lane that does not exist or is not checked. */
export const nextCheckOf = Effect.fnUntraced(function*(lane: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly at: DateTime.Utc }>`
    SELECT next_due AS at FROM work_lanes WHERE name LIKE ${`%:${lane}`} AND next_due < 'infinity'
  `
  return Option.fromUndefinedOr(row?.at)
})

/** Lets the next claim check a lane. */
export const checkNow = (kind: WorkKind, lane: string) =>
  SqlClient.SqlClient.use((sql) => sql`UPDATE work_lanes SET next_due = '-infinity' WHERE name = ${`${kind}:${lane}`}`)

/** Opens all lanes, and lets no claim check them until a commit adds an item. */
export const makeIdle = SqlClient.SqlClient.use((sql) =>
  sql`UPDATE work_lanes SET next_due = 'infinity', closed = false`
)

/** Removes all lanes with their items. */
export const removeAll = SqlClient.SqlClient.use((sql) => sql`TRUNCATE work, work_lanes`)
