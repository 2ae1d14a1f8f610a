/** Errors of statements without what people wrote: they go into logs and spans. */
import type { SqlError } from "effect/sql"

/** What PostgreSQL adds to an error, and fills with values. Code, table, column and constraint stay. */
const telling = ["detail", "hint", "where", "internalQuery"]

/** In what is wrong with a value, the value follows the colon. */
const value = /:\s*".*$/su

/** Returns an error of the driver without values, which tells what failed by its code and by what it names of the schema. */
export const discreet = (error: SqlError.SqlError): SqlError.SqlError => {
  const { cause } = error.reason
  if (!(cause instanceof Error)) return error
  for (const field of telling) Reflect.deleteProperty(cause, field)
  const { message, stack } = cause
  const kept = message.replace(value, "")
  // The stack begins with the message as it was.
  if (kept !== message) Object.assign(cause, { message: kept, stack: stack?.replace(message, kept) })
  return error
}
