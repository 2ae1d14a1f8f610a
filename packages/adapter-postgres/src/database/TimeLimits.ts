/** The time limits of a session, and transactions without them: an operator's commands, some of which read a table without an index. */
import { Duration, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { StatementDeadline } from "./StatementDeadline.ts"

/** The settings that end a session's statements and transactions, with their values. */
export const time_limits = {
  statement_timeout: "5s",
  transaction_timeout: "10s",
  idle_in_transaction_session_timeout: "5s"
}

/** Returns a function that runs an effect in one transaction without time limits. */
export const unlimited = (sql: SqlClient.SqlClient) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  sql.withTransaction(Effect.gen(function*() {
    // No query, because the isolation level can still be set afterward.
    for (const limit of Object.keys(time_limits)) yield* sql`SET LOCAL ${sql(limit)} = 0`
    return yield* effect
  })).pipe(Effect.provideService(StatementDeadline, Duration.infinity))
