/** Whether a new connection leads to a server that the service can use. */
import { Effect } from "effect"
import { type SqlConnection, SqlError } from "effect/sql"
import type { Host } from "./Hosts.ts"

/** Returns the SQLSTATE of an error of the server. */
export const codeOf = ({ reason: { cause } }: SqlError.SqlError): unknown =>
  cause instanceof Error && "code" in cause ? cause.code : undefined

/** Whether a statement failed because its server is a standby, or was made read-only. It has changed nothing. */
export const isReadOnly = (error: unknown): boolean => SqlError.isSqlError(error) && codeOf(error) === "25006"

const unusable = ({ host, port }: Host, reason: string) => {
  const message = `${host}:${port} ${reason}`
  return new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" })
  })
}

const pooler =
  "is a connection pooler such as PgBouncer, which does not preserve session settings. Point DATABASE_URL at PostgreSQL directly: the service pools its own connections"

/** PgBouncer does not support the settings with which a session begins, unless it is configured to drop them. */
const rejectsSettings = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  cause instanceof Error && cause.message.startsWith("unsupported startup parameter")

/** PostgreSQL before version 17 has no `transaction_timeout`, with which each session begins. */
const isTooOld = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  cause instanceof Error && cause.message.includes("unrecognized configuration parameter \"transaction_timeout\"")

/** Names the reason why a connection was rejected, unless PostgreSQL's own message does. */
export const explain = (host: Host) => (error: SqlError.SqlError): SqlError.SqlError =>
  rejectsSettings(error)
    ? unusable(host, pooler)
    : isTooOld(error)
    ? unusable(host, "runs a PostgreSQL version before 17. Use PostgreSQL 17 or later")
    : error

/**
 * The last column leaves only the first schema of `search_path` in it. Otherwise, a statement would use a table of another schema
 * where the first one lacks it.
 */
const state = `
  SELECT
    pg_backend_pid() AS process_id,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only,
    current_setting('search_path') AS search_path,
    current_schema() IS NULL AS lacks_schema,
    set_config('search_path', quote_ident(current_schema()), false)
`

/**
 * Fails with a `ConnectionError` unless the server at the other end accepts writes, is the one that was connected to, and has
 * a schema for the tables. A pooler presents a number of its own instead of the number of the server's process.
 */
export const check = Effect.fnUntraced(
  function*(connection: SqlConnection.Connection, process_id: number, host: Host) {
    const [row] = yield* connection.executeUnprepared(state, [], undefined)
    if (row?.["process_id"] !== process_id) return yield* unusable(host, pooler)
    if (row["read_only"] !== false) return yield* unusable(host, "is read-only")
    if (row["lacks_schema"] !== false) {
      return yield* unusable(
        host,
        `has no schema of the search path ${String(row["search_path"])}. Create it with CREATE SCHEMA`
      )
    }
  }
)
