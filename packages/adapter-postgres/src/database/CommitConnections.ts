import { Context } from "effect"
import type { SqlClient } from "effect/sql"

/**
 * A client whose connections serve writes alone, one statement at a time.
 *
 * What waits for a lock or for the disk there holds up nothing but itself: the
 * statements that share a connection of the other client are answered in their
 * order. A lock is waited for 2 seconds, and then a statement fails with a
 * `LockTimeoutError`.
 *
 * It knows nothing of the other client's transactions.
 */
export class CommitConnections extends Context.Service<CommitConnections, SqlClient.SqlClient>()(
  "@messaging-crm/adapter-postgres/CommitConnections"
) {}
