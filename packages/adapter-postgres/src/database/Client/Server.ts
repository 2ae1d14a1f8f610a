/** Whether a new connection leads to a server that the service can use. */
import { Effect } from "effect"
import { type SqlConnection, SqlError } from "effect/sql"
import type { Host } from "./Hosts.ts"

const codeOf = ({ reason: { cause } }: SqlError.SqlError): unknown =>
  cause instanceof Error && "code" in cause ? cause.code : undefined

/** Whether a statement failed because its server is a standby, or was made read-only. It has changed nothing. */
export const isReadOnly = (error: unknown): boolean => SqlError.isSqlError(error) && codeOf(error) === "25006"

const unusable = (message: string) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" })
  })

const state = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only
`

/** Fails with a `ConnectionError` unless the server at the other end accepts writes. */
export const check = Effect.fnUntraced(function*(connection: SqlConnection.Connection, { host, port }: Host) {
  const [row] = yield* connection.executeUnprepared(state, [], undefined)
  if (row?.["read_only"] !== false) return yield* unusable(`${host}:${port} is read-only`)
})
