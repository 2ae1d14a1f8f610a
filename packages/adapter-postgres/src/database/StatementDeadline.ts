import { Context, Duration } from "effect"

/**
 * How long a statement waits for the database's next word before its connection
 * is taken for dead.
 *
 * PostgreSQL ends a statement after 5 seconds and says so. What may take longer,
 * as a migration, needs another deadline together with another `statement_timeout`.
 */
export const StatementDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-postgres/StatementDeadline",
  { defaultValue: () => Duration.seconds(7) }
)
