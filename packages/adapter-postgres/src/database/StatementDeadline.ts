import { Context, Duration } from "effect"

/**
 * How long a statement may wait for data from the database before its connection
 * is closed as dead.
 *
 * PostgreSQL itself ends a statement after 5 seconds (`statement_timeout`). A
 * statement that may take longer, such as a migration, must set both.
 */
export const StatementDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-postgres/StatementDeadline",
  { defaultValue: () => Duration.seconds(7) }
)
