/** What the parts of a commit's statement share. */

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

export const anyNumber = (name: string): string => `(SELECT count(*) FROM ${name}) >= 0`
export const exactly = (name: string, count: number): string => `(SELECT count(*) FROM ${name}) = ${count}`
