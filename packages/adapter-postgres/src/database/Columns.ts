/** Conversions between core's types and the columns of PostgreSQL. */
import type { PageRequest } from "@messaging-crm/core/Page"
import { fromMillis, type Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Schema, SchemaTransformation } from "effect"

/** Schema for a `timestamptz` column as the driver returns it, which never returns a `Date` that is none. */
export const At = Schema.Date.pipe(
  Schema.decodeTo(
    Schema.DateTimeUtc,
    SchemaTransformation.transform({ decode: (at) => fromMillis(at.getTime()), encode: DateTime.toDateUtc })
  )
)

/** Schema for a nullable `timestamptz` column. */
export const OptionalAt = Schema.NullOr(At)

/** Returns a timestamp as a parameter for the driver. */
export const date = (at: Timestamp): Date => DateTime.toDateUtc(at)

/** Returns an optional timestamp as a parameter for the driver. */
export const optionalDate = (at: Timestamp | null): Date | null => at === null ? null : date(at)

/** Returns a value as a parameter for a `jsonb` column. */
export const json = (value: unknown): string => JSON.stringify(value)

/**
 * Returns where a page starts: after the position of its request, or before
 * every row there can be. The first page is so the same statement as the others.
 */
export const startOf = ({ after }: PageRequest): { readonly at: string; readonly id: string } =>
  after === null
    ? { at: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" }
    : { at: DateTime.formatIso(after.at), id: after.id }
