import { Context } from "effect"
import type { SqlClient } from "effect/sql"

/**
 * A client whose connections are used for commits only, one statement at a time.
 *
 * Statements that share a connection are answered in order, so a commit that waits
 * for a lock or for the disk would delay the reads behind it. Here it delays
 * nothing else. After 2 seconds of waiting for a lock a statement fails with a
 * `LockTimeoutError`.
 *
 * It does not take part in transactions of the other client.
 */
export class CommitConnections extends Context.Service<CommitConnections, SqlClient.SqlClient>()(
  "@messaging-crm/adapter-postgres/CommitConnections"
) {}
