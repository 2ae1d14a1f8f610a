/**
 * Members: the people of an organization (spec §2.8). Keys act for them, and contacts and conversations belong to them.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { Ids, MemberId, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { foldCase, trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

export const Role = Schema.Literals(["owner", "admin", "member"])
export type Role = typeof Role.Type

export const Member = Schema.Struct({
  id: MemberId,
  name: Schema.String,
  email: Schema.String,
  role: Role.annotate({ description: "Owners and admins hold API keys." }),
  created_at: Timestamp
}).annotate({
  identifier: "Member",
  description: "A person of the organization, who owns contacts and is assigned conversations."
})
export interface Member extends Schema.Schema.Type<typeof Member> {}

/** A member as it is stored: who has left is still named where they acted. */
export interface MemberRow {
  readonly member: Member
  readonly left_at: Timestamp | null
}

export const AddMember = Schema.Struct({
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  email: trimmedText({ min: 3, max: limits.email_chars_max }),
  role: Role
})
export interface AddMember extends Schema.Schema.Type<typeof AddMember> {}

// -------------------------------------------------------------- errors

export class MemberNotFound extends Schema.TaggedError<MemberNotFound>()("MemberNotFound", {}) {}

/** The organization already has a member with this address, ignoring case. */
export class MemberEmailTaken extends Schema.TaggedError<MemberEmailTaken>()("MemberEmailTaken", {
  email: Schema.String
}) {}

// ---------------------------------------------------------------- port

/**
 * Port: where members are kept.
 *
 * **Contract** (checked by `conformance/Members.ts`)
 *
 * - `insert` fails with `MemberEmailTaken`, and writes nothing, when a present
 *   member of the organization has the same `email_key`.
 * - `find` returns a member of the organization, whether they have left or not.
 * - `list` returns the members who have not left, oldest first, then by id.
 * - `setRole` and `remove` answer whether the organization has that present member.
 * - A removed member's id stays valid where it is referred to; the address is free again.
 */
export class MemberStore extends Context.Service<MemberStore, {
  readonly insert: (
    organization_id: OrganizationId,
    member: Member,
    email_key: string
  ) => Effect.Effect<void, MemberEmailTaken>
  readonly find: (organization_id: OrganizationId, id: MemberId) => Effect.Effect<Option.Option<MemberRow>>
  readonly list: (organization_id: OrganizationId) => Effect.Effect<ReadonlyArray<Member>>
  readonly setRole: (organization_id: OrganizationId, id: MemberId, role: Role) => Effect.Effect<boolean>
  readonly remove: (organization_id: OrganizationId, id: MemberId, left_at: Timestamp) => Effect.Effect<boolean>
}>()("@messaging-crm/core/Members/MemberStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's members. */
export class Members extends Context.Service<Members, {
  readonly list: Effect.Effect<ReadonlyArray<Member>, never, CurrentActor>
  /** Returns the present member, who may be made responsible for something. */
  readonly get: (id: MemberId) => Effect.Effect<Member, MemberNotFound, CurrentActor>
  readonly add: (input: AddMember) => Effect.Effect<Member, MemberEmailTaken, CurrentActor>
  /** Changes a role. A key of a member who is no longer owner or admin stops working at once. */
  readonly setRole: (id: MemberId, role: Role) => Effect.Effect<Member, MemberNotFound, CurrentActor>
  readonly remove: (id: MemberId) => Effect.Effect<void, MemberNotFound, CurrentActor>
}>()("@messaging-crm/core/Members") {
  static readonly layer = Layer.effect(
    Members,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* MemberStore

      const list = CurrentActor.use(({ organization_id }) => store.list(organization_id)).pipe(
        Effect.withSpan("Members.list")
      )

      const get = Effect.fn("Members.get")(function*(id: MemberId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        if (Option.isNone(found) || found.value.left_at !== null) return yield* new MemberNotFound()
        return found.value.member
      })

      const add = Effect.fn("Members.add")(function*(input: AddMember) {
        const { organization_id } = yield* CurrentActor
        const member: Member = { id: MemberId.make(yield* ids.uuid), ...input, created_at: yield* DateTime.now }
        yield* store.insert(organization_id, member, foldCase(member.email))
        return member
      })

      const setRole = Effect.fn("Members.setRole")(function*(id: MemberId, role: Role) {
        const { organization_id } = yield* CurrentActor
        if (!(yield* store.setRole(organization_id, id, role))) return yield* new MemberNotFound()
        return yield* get(id)
      })

      const remove = Effect.fn("Members.remove")(function*(id: MemberId) {
        const { organization_id } = yield* CurrentActor
        if (!(yield* store.remove(organization_id, id, yield* DateTime.now))) return yield* new MemberNotFound()
      })

      return Members.of({ list, get, add, setRole, remove })
    })
  )
}
