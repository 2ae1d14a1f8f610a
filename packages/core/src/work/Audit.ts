/**
 * Audit: who changed what, and when (contract §19).
 *
 * A record is one of the changes of the operation that it is about, so it exists
 * if and only if that operation is committed. It holds IDs and no content. Records
 * are never changed, and deleted only by age.
 */
import { Context, Duration, Effect, Layer, Schema } from "effect"
import { type Actor, CurrentActor } from "../kernel/Actor.ts"
import { ApiKeyId, AuditRecordId, MemberId, type OrganizationId } from "../kernel/Ids.ts"
import { purgeOlderThan } from "../kernel/Loops.ts"
import { AuditedOperation, operation } from "../kernel/Operations.ts"
import { Timestamp } from "../kernel/Timestamps.ts"

// ---------------------------------------------------------------- data

/** One committed write. */
export const AuditRecord = Schema.Struct({
  id: AuditRecordId,
  at: Timestamp,
  operation: AuditedOperation,
  /** ID of the resource that the operation created or changed. */
  resource_id: Schema.String,
  /** Null for a member with a session, and for an operator at the command line. */
  key_id: Schema.NullOr(ApiKeyId),
  /** Null for an operator at the command line. */
  member_id: Schema.NullOr(MemberId),
  /** Null outside of a request. */
  request_id: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AuditRecord" })
export interface AuditRecord extends Schema.Schema.Type<typeof AuditRecord> {}

/** The filters of a list. A filter that is null does not filter. */
export interface AuditFilters {
  readonly resource_id: string | null
  readonly key_id: ApiKeyId | null
  readonly member_id: MemberId | null
  /** Only records that are older. */
  readonly before: Timestamp | null
}

/** The age after which a record may be deleted. A reference, so that an operator can change it. */
export const AuditAgeMax = Context.Reference<Duration.Duration>("@messaging-crm/core/Audit/AuditAgeMax", {
  defaultValue: () => Duration.days(400)
})

// ----------------------------------------------------------- decisions

/** Returns the record of an actor's operation on a resource. */
export const make = (
  operation: AuditedOperation,
  resource_id: string,
  { key_id = null, member_id }: Pick<Actor, "member_id"> & { readonly key_id?: ApiKeyId | null },
  request_id: string | null,
  { now, uuid }: { readonly now: Timestamp; readonly uuid: () => string }
): AuditRecord => ({
  id: AuditRecordId.make(uuid()),
  at: now,
  operation,
  resource_id,
  key_id,
  member_id,
  request_id
})

// ---------------------------------------------------------------- port

/**
 * Port: reads and purges the records. Commits write them.
 *
 * **Contract** (checked by `conformance/Ports/Audit.ts`)
 *
 * - `list` returns at most `limit` records of the organization that pass every
 *   filter that is not null, ordered by `at` descending, then ID descending.
 * - `purge` deletes at most `limit` records older than `before`, the oldest
 *   first, of any organization, and returns their number.
 */
export class AuditStore extends Context.Service<AuditStore, {
  readonly list: (
    organization_id: OrganizationId,
    filters: AuditFilters,
    limit: number
  ) => Effect.Effect<ReadonlyArray<AuditRecord>>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Audit/AuditStore") {}

// ---------------------------------------------------------- operations

/** Operations on the records of the current actor's organization. */
export class Audit extends Context.Service<Audit, {
  /** Returns at most `limit` records, the newest first. */
  readonly list: (
    filters: AuditFilters,
    limit: number
  ) => Effect.Effect<ReadonlyArray<AuditRecord>, never, CurrentActor>
  /** Deletes one batch of records older than `AuditAgeMax`, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function*() {
      const age_max = yield* AuditAgeMax
      const store = yield* AuditStore

      const list = operation("audit.list")(function*(filters: AuditFilters, limit: number) {
        const { organization_id } = yield* CurrentActor
        return yield* store.list(organization_id, filters, limit)
      })

      return Audit.of({ list, purge: purgeOlderThan(age_max, store.purge) })
    })
  )
}
