/**
 * Events of a dump that was restored into another server.
 *
 * The order of events is that of the numbers of their transactions, and each server counts its own. If the numbers of the
 * dump are higher, followers would read later events before the restored ones.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Returns whether the newest event has the number of a transaction that this server has not started yet. */
export const exist = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [newest] = yield* sql<{ readonly is_restored: boolean }>`
    SELECT committed_in >= pg_snapshot_xmax(pg_current_snapshot()) AS is_restored
    FROM webhook_events
    ORDER BY created_at DESC
    LIMIT 1
  `
  return newest?.is_restored === true
})

/** Gives all events the number of the current transaction, so that they precede later ones, in the order of their IDs. */
export const renumber = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE webhook_events SET committed_in = pg_current_xact_id(), earlier_commits = NULL`
)
