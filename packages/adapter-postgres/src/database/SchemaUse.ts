/** How much of its server a schema uses, for an operator. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface SchemaUse {
  readonly schema: string
  /** The version of PostgreSQL. */
  readonly postgres: string
  readonly organizations: number
  /** The bytes on disk of the schema's tables with their indexes. */
  readonly bytes: number
  /** The work items that are due, or in progress. */
  readonly work: number
  /** The sessions of the whole server, and their maximum. */
  readonly sessions: number
  readonly sessions_max: number
}

/** Reads the use of the schema. It counts organizations and due work, so its cost grows with them. */
export const read = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [use] = yield* sql<SchemaUse>`
    SELECT
      current_schema()::text AS schema,
      current_setting('server_version') AS postgres,
      (SELECT count(*) FROM organizations)::float8 AS organizations,
      (
        SELECT coalesce(sum(pg_total_relation_size(oid)), 0)
        FROM pg_class
        WHERE relkind = 'r' AND relnamespace = quote_ident(current_schema())::regnamespace
      )::float8 AS bytes,
      (SELECT count(*) FROM work WHERE due_at <= now() OR leased_until IS NOT NULL)::float8 AS work,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::float8 AS sessions,
      current_setting('max_connections')::float8 AS sessions_max
  `
  // A query without FROM returns one row.
  return use as SchemaUse
})
