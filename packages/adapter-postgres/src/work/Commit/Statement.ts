/** What the parts of a commit's statement share. */
import type { Changes } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"

/** A part of the statement. */
export interface Part {
  readonly name: string
  readonly body: string
  /** What the main query requires of it. */
  readonly requires: string
  /** Whether that is about the lease and not about what was loaded. */
  readonly isLease?: boolean
}

/** Where the parts of one statement put their values: both return the text that stands for a value. */
export interface Values {
  readonly parameter: (value: unknown) => string
  /** The same for a value that PostgreSQL reads as `jsonb`. */
  readonly json: (value: unknown) => string
}

/** The changes of one operation, and whose they are. */
export interface Commission {
  readonly organization_id: OrganizationId
  readonly changes: Changes
  /** The trace that the commit runs in. */
  readonly trace: string | null
}

/** Something that is an organization's. */
export type Owned<A> = A & { readonly organization_id: OrganizationId }

/** Something that goes on in the trace of its commit. */
export interface Traced {
  readonly trace: string | null
}

export const anyNumber = (name: string): string => `(SELECT count(*) FROM ${name}) >= 0`
export const exactly = (name: string, count: string): string => `(SELECT count(*) FROM ${name}) = ${count}::integer`
