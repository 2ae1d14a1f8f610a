/** The rejection of a statement that writes an organization which is closed for writes, because it is being moved. */
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { codeOf } from "./Client/Server.ts"

/** The SQLSTATE of `guard_organization.sql`. */
const organization_closed = "MC002"

/** Returns whether a statement failed because the organization is closed for writes. Nothing was written. */
export const isClosed = (error: SqlError.SqlError): boolean => codeOf(error) === organization_closed

/** Turns a failure of the database into a defect. */
export const die = (error: SqlError.SqlError): Effect.Effect<never> =>
  Effect.die(isClosed(error) ? new OrganizationClosed() : error)
