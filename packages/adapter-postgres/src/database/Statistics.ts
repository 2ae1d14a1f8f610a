/**
 * Statistics of tables that grow fast.
 *
 * A prepared statement keeps its plan until its tables are analyzed again. A plan
 * that was made for an almost empty table may read all rows of an organization to
 * find one, because that cost nothing then. Autovacuum analyzes a table once a minute
 * at most, in which a new service can store thousands of rows.
 */
import { Array, Effect, Layer } from "effect"
import { commitClient } from "./CommitConnections.ts"

/** Tables of this many pages are analyzed. All of a smaller one is read as fast as one row; a larger one is left to autovacuum. */
const [pages_min, pages_max] = [16, 16_384]

/** A table is analyzed if it has this many times as many pages as when it was last analyzed. */
const growth = 4

const interval = "5 seconds"

/** Analyzes the tables that have grown fourfold since they were last analyzed, and returns their names. */
export const refresh = Effect.gen(function*() {
  // Reads do not have to wait behind the analysis.
  const sql = yield* commitClient
  const grown = yield* sql<{ readonly name: string }>`
    SELECT relname AS name
    FROM (
      SELECT relname, relpages, pg_relation_size(oid) / current_setting('block_size')::integer AS pages
      FROM pg_class
      WHERE relkind = 'r' AND relnamespace = quote_ident(current_schema())::regnamespace AND pg_has_role(relowner, 'USAGE')
    ) tables
    WHERE pages BETWEEN ${pages_min} AND ${pages_max} AND pages >= ${growth} * relpages
    ORDER BY relname
  `
  const names = grown.map(({ name }) => name)
  // Skips a table that another process is analyzing.
  if (Array.isReadonlyArrayNonEmpty(names)) {
    yield* sql`ANALYZE (SKIP_LOCKED) ${sql.csv(names.map((name) => sql`${sql(name)}`))}`.unprepared
  }
  return names
})

/** Layer that refreshes the statistics every 5 seconds. */
export const layer = Layer.effectDiscard(
  refresh.pipe(
    Effect.catchCause((cause) => Effect.logDebug("The tables cannot be analyzed", cause)),
    Effect.andThen(Effect.sleep(interval)),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
)
