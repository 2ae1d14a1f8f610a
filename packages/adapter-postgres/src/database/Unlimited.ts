/** Statements without a time limit, for an operator's commands: some read a table without an index. */
import { Duration, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { StatementDeadline } from "./StatementDeadline.ts"

/** Returns a function that runs statements in one transaction without a time limit. */
export const unlimited =
  (sql: SqlClient.SqlClient) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
    sql.withTransaction(Effect.gen(function*() {
      yield* sql`SET LOCAL statement_timeout = 0`
      yield* sql`SET LOCAL transaction_timeout = 0`
      return yield* effect
    })).pipe(
      Effect.provideService(StatementDeadline, Duration.infinity),
      Effect.orDie
    )
