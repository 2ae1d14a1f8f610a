/** Errors of statements without values, because errors go into logs and spans. */
import type { SqlError } from "effect/sql"

/** The fields of PostgreSQL's errors that contain values. Code, table, column and constraint stay. */
const fieldsWithValues = ["detail", "hint", "where", "internalQuery"]

/** The value in a message about an invalid one, which follows a colon. */
const value = /:\s*".*$/su

/** Removes the values from an error of the driver. The code and the names of the schema still identify the failure. */
export const withoutValues = (error: SqlError.SqlError): SqlError.SqlError => {
  const { cause } = error.reason
  if (!(cause instanceof Error)) return error
  for (const field of fieldsWithValues) Reflect.deleteProperty(cause, field)
  const { message, stack } = cause
  const cleaned = message.replace(value, "")
  // The stack begins with the original message.
  if (cleaned !== message) Object.assign(cause, { message: cleaned, stack: stack?.replace(message, cleaned) })
  return error
}
