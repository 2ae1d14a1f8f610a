/** Redacted errors of statements: they go into logs and spans, so they contain no values. */
import type { SqlError } from "effect/sql"

/** The fields of PostgreSQL's errors that contain values. Code, table, column and constraint stay. */
const fieldsWithValues = ["detail", "hint", "where", "internalQuery"]

/** The value in a message about an invalid one, in quotes. */
const value = /".*"/su

/** Returns the message without values. A message that a database function raises can consist entirely of values. */
const messageOf = (error: Error): string => {
  const code = "code" in error ? String(error.code) : ""
  if ("routine" in error && error.routine === "exec_stmt_raise") return `A function of the database raised ${code}`
  return code.startsWith("22") ? error.message.replace(value, "a value") : error.message
}

/** Removes the values from an error of the driver. The code and the names of the schema still identify the failure. */
export const redacted = (error: SqlError.SqlError): SqlError.SqlError => {
  const { cause } = error.reason
  if (!(cause instanceof Error)) return error
  for (const field of fieldsWithValues) Reflect.deleteProperty(cause, field)
  const { message, stack } = cause
  const cleaned = messageOf(cause)
  // The stack begins with the original message.
  if (cleaned !== message) Object.assign(cause, { message: cleaned, stack: stack?.replace(message, cleaned) })
  return error
}
