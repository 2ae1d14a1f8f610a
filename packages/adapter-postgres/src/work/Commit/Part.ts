/** A part of a commit's statement, and the types and conditions that all parts share. */
import type { Changes } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Array } from "effect"

/** A part of the statement: one common table expression. */
export interface Part {
  readonly name: string
  readonly body: string
  /** How many rows the part must have; any number if absent. */
  readonly rows?: number
  /** The condition that the main query checks instead of the number of rows. It reads the part, so that PostgreSQL runs it. */
  readonly requires?: string
  /** The meaning of a failure; a conflict if absent. */
  readonly failure?: "lease lost"
}

/** Adds parameters to the statement. Both functions return the SQL text of the parameter. */
export interface Values {
  readonly parameter: (value: unknown) => string
  /** The same for rows that PostgreSQL reads as `jsonb`. */
  readonly json: (rows: ReadonlyArray<object>) => string
}

/** The changes of one operation, with its organization. */
export interface CommitRequest {
  readonly organization_id: OrganizationId
  readonly changes: Changes
  /** The trace that the commit runs in. */
  readonly trace: string | null
}

/** One commit, or several of one shape. */
export type CommitRequests = Array.NonEmptyReadonlyArray<CommitRequest>

/** Something with the organization that it belongs to. */
export type Owned<A> = A & { readonly organization_id: OrganizationId }

/** Something with the trace of its commit. */
export interface Traced {
  readonly trace: string | null
}

/** Sorts rows by the text of their keys, so that all statements lock or insert them in the same order. */
export const inOrder = <Row>(rows: ReadonlyArray<Row>, textOf: (row: Row) => string): ReadonlyArray<Row> =>
  rows.toSorted((a, b) => textOf(a) < textOf(b) ? -1 : 1)

/**
 * Returns the condition that a column is one of the values that a join already compares it with. PostgreSQL then looks the
 * rows up by the index, even if it made the plan while the table was empty and would read all of it for the join alone.
 */
export const isAmong = (column: string, values: string): string => `${column} = ANY(${values})`
