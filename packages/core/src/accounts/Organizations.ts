/**
 * Organizations: each owns its own contacts, conversations, catalogs and webhooks (contract §18.1).
 *
 * An operator creates them. The REST API has no operation for them.
 */
import { Context, DateTime, Effect, Layer, type Option, Result, Schema } from "effect"
import { CurrentActor, RequestId } from "../kernel/Actor.ts"
import { Country } from "../kernel/Countries.ts"
import { emailLine, isEmail } from "../kernel/Emails.ts"
import { Ids, MemberId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { trimmedText } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Audit from "../work/Audit.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide } from "../work/Decide.ts"
import type { Row } from "../work/Rows.ts"
import { type Member, type MemberColumns, toColumns } from "./Members.ts"

// ---------------------------------------------------------------- data

export const Organization = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  /** The country whose phone numbers are read as they are dialed within it; null for none (contract §8.3). */
  default_country: Schema.NullOr(Country),
  created_at: Timestamp
}).annotate({ identifier: "Organization" })
export interface Organization extends Schema.Schema.Type<typeof Organization> {}

/** An organization as it is loaded for a decision. */
export type OrganizationRow = Row<Organization>

/**
 * Updating an organization without changing a column serves as a lock on a count, such as the number of its tags: of
 * two concurrent commits that both add the last allowed row, the second one conflicts, because the version has changed,
 * and is decided again.
 */
export const OrganizationRows = Changes.declareTable(Organization)({
  name: "organizations",
  key: { id: "uuid" },
  owner: "id"
})

export const CreateOrganization = Schema.Struct({
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  owner_name: trimmedText({ min: 1, max: limits.name_chars_max }),
  owner_email: trimmedText({ min: 3, max: limits.email_chars_max }, emailLine).check(isEmail),
  default_country: Schema.optionalKey(Schema.NullOr(Country))
}).pipe(Schema.brand("CreateOrganization"))
export interface CreateOrganization extends Schema.Schema.Type<typeof CreateOrganization> {}

export const UpdateOrganization = Schema.Struct({
  default_country: Schema.NullOr(Country)
}).pipe(Schema.brand("UpdateOrganization"))
export interface UpdateOrganization extends Schema.Schema.Type<typeof UpdateOrganization> {}

// -------------------------------------------------------------- errors

export class OrganizationNotFound extends Schema.TaggedError<OrganizationNotFound>()("OrganizationNotFound", {}) {}

// ----------------------------------------------------------- decisions

const update = (
  found: Option.Option<OrganizationRow>,
  input: UpdateOrganization
): Result.Result<Changes.Decision<Organization>, OrganizationNotFound> =>
  Result.map(Result.fromOption(found, () => new OrganizationNotFound()), (row) => {
    const { version: _version, ...organization } = { ...row, ...input }
    return {
      result: organization,
      changes: row.default_country === input.default_country ? Changes.none : OrganizationRows.update(row, input)
    }
  })

// ---------------------------------------------------------------- port

/**
 * Port: where organizations are stored.
 *
 * **Contract** (checked by `conformance/Ports/Organizations.ts`)
 *
 * - `insert` stores an organization with its first member and the audit record,
 *   all or none.
 * - `find` returns what `insert` was given, and none for any other id.
 * - `list` returns every organization, oldest first, then by id.
 */
export class OrganizationStore extends Context.Service<OrganizationStore, {
  readonly insert: (organization: Organization, owner: MemberColumns, record: Audit.AuditRecord) => Effect.Effect<void>
  readonly find: (id: OrganizationId) => Effect.Effect<Option.Option<OrganizationRow>>
  readonly list: Effect.Effect<ReadonlyArray<Organization>>
}>()("@messaging-crm/core/Organizations/OrganizationStore") {}

// ---------------------------------------------------------- operations

export class Organizations extends Context.Service<Organizations, {
  /** Creates an organization together with its first owner. */
  readonly create: (
    input: CreateOrganization
  ) => Effect.Effect<{ readonly organization: Organization; readonly owner: Member }>
  readonly get: (id: OrganizationId) => Effect.Effect<Organization, OrganizationNotFound>
  /** Changes the current actor's organization. */
  readonly update: (
    input: UpdateOrganization
  ) => Effect.Effect<Organization, OrganizationNotFound | ConcurrentChanges, CurrentActor>
  /** Returns every organization, for an operator. */
  readonly list: Effect.Effect<ReadonlyArray<Organization>>
}>()("@messaging-crm/core/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const ids = yield* Ids
      const store = yield* OrganizationStore

      const create = traced("Organizations.create")(function*(input: CreateOrganization) {
        const created_at = yield* DateTime.now
        const organization: Organization = {
          id: OrganizationId.make(yield* ids.uuid),
          name: input.name,
          default_country: input.default_country ?? null,
          created_at
        }
        const owner: Member = {
          id: MemberId.make(yield* ids.uuid),
          name: input.owner_name,
          email: input.owner_email,
          role: "owner",
          created_at
        }
        const actor = { member_id: null }
        const context = { now: created_at, uuid: ids.next }
        const record = Audit.make("organizations.create", organization.id, actor, yield* RequestId, context)
        yield* store.insert(organization, toColumns(owner), record)
        return { organization, owner }
      })

      const get = traced("Organizations.get")(function*(id: OrganizationId) {
        const found = yield* store.find(id)
        const { version: _version, ...organization } = yield* Effect.fromOption(found, () => new OrganizationNotFound())
        return organization
      })

      const updateOrganization = write("organizations.update", function*(input: UpdateOrganization) {
        const { organization_id } = yield* CurrentActor
        return {
          load: store.find(organization_id),
          decide: (found) => update(found, input)
        }
      })

      return Organizations.of({ create, get, list: store.list, update: updateOrganization })
    })
  )
}
