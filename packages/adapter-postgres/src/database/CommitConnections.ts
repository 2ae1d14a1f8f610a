import { Context, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

/**
 * A client whose connections are used for commits only, one statement at a time.
 *
 * Statements that share a connection complete in order, so a commit that waits
 * for a lock or for the disk would delay the reads behind it. Here it delays
 * nothing else. After 2 seconds of waiting for a lock a statement fails with a
 * `LockTimeoutError`.
 *
 * It does not take part in transactions of the other client.
 */
export class CommitConnections extends Context.Service<CommitConnections, SqlClient.SqlClient>()(
  "@messaging-crm/adapter-postgres/CommitConnections"
) {}

/** The client for commits: `CommitConnections` if they are provided, or the shared client. */
export const commitClient = Effect.gen(function*() {
  const shared = yield* SqlClient.SqlClient
  return Option.getOrElse(yield* Effect.serviceOption(CommitConnections), () => shared)
})

/** Makes an effect that returns the client for commits, or the shared client inside a transaction of the caller. */
export const makeCommitOrTransactionClient = Effect.gen(function*() {
  const shared = yield* SqlClient.SqlClient
  const own = yield* commitClient
  return Effect.map(Effect.serviceOption(shared.transactionService), (outer) => Option.isSome(outer) ? shared : own)
})
