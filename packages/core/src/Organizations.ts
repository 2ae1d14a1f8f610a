/**
 * Organizations: whose data it is (spec §1). Made by an operator; the REST API has no operation for them.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { Ids, MemberId, OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { type Member, MemberStore } from "./Members.ts"
import { foldCase, trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

// ---------------------------------------------------------------- data

export const Organization = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  created_at: Timestamp
}).annotate({ identifier: "Organization" })
export interface Organization extends Schema.Schema.Type<typeof Organization> {}

export const CreateOrganization = Schema.Struct({
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  owner_name: trimmedText({ min: 1, max: limits.name_chars_max }),
  owner_email: trimmedText({ min: 3, max: limits.email_chars_max })
})
export interface CreateOrganization extends Schema.Schema.Type<typeof CreateOrganization> {}

// -------------------------------------------------------------- errors

export class OrganizationNotFound extends Schema.TaggedError<OrganizationNotFound>()("OrganizationNotFound", {}) {}

// ---------------------------------------------------------------- port

/**
 * Port: where organizations are kept.
 *
 * **Contract** (checked by `conformance/Organizations.ts`)
 *
 * - `find` returns what `insert` was given, and none for any other id.
 */
export class OrganizationStore extends Context.Service<OrganizationStore, {
  readonly insert: (organization: Organization) => Effect.Effect<void>
  readonly find: (id: OrganizationId) => Effect.Effect<Option.Option<Organization>>
}>()("@messaging-crm/core/Organizations/OrganizationStore") {}

// ---------------------------------------------------------- operations

export class Organizations extends Context.Service<Organizations, {
  /** Creates an organization together with its first owner. */
  readonly create: (
    input: CreateOrganization
  ) => Effect.Effect<{ readonly organization: Organization; readonly owner: Member }>
  readonly get: (id: OrganizationId) => Effect.Effect<Organization, OrganizationNotFound>
}>()("@messaging-crm/core/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function*() {
      const ids = yield* Ids
      const members = yield* MemberStore
      const store = yield* OrganizationStore
      const unitOfWork = yield* UnitOfWork

      const create = Effect.fn("Organizations.create")(function*(input: CreateOrganization) {
        const created_at = yield* DateTime.now
        const organization: Organization = { id: OrganizationId.make(yield* ids.uuid), name: input.name, created_at }
        const owner: Member = {
          id: MemberId.make(yield* ids.uuid),
          name: input.owner_name,
          email: input.owner_email,
          role: "owner",
          created_at
        }
        yield* store.insert(organization).pipe(
          Effect.andThen(Effect.orDie(members.insert(organization.id, owner, foldCase(owner.email)))),
          unitOfWork.transact
        )
        return { organization, owner }
      })

      const get = Effect.fn("Organizations.get")(function*(id: OrganizationId) {
        const found = yield* store.find(id)
        if (Option.isNone(found)) return yield* new OrganizationNotFound()
        return found.value
      })

      return Organizations.of({ create, get })
    })
  )
}
