/** Whether the database accepts writes. With a full disk it still serves reads. */
import { Effect } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { codeOf } from "./Client/Server.ts"

/**
 * The codes of PostgreSQL for a full disk, a failing disk, and a read-only disk. The last one, `42501`, also means that
 * the role may not write a table: then reads continue too, and requests are counted in each process.
 */
const rejections: ReadonlySet<unknown> = new Set(["53100", "58030", "42501"])

/** Whether a statement failed because the disk did not accept its data. Nothing was written. */
export const isRejection = (error: unknown): boolean => SqlError.isSqlError(error) && rejections.has(codeOf(error))

/** Fails unless the database accepts writes and has a megabyte free. It takes a few milliseconds. */
export const required = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`SELECT require_writable()`)
