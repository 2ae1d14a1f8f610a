/**
 * Members: the people who work for an organization (contract §9.2).
 *
 * An API key acts for a member, a contact has one as its owner, and a conversation can be assigned to one.
 */
import { Array, Context, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { emailLine, isEmail } from "../kernel/Emails.ts"
import { MemberId, type OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import { foldCase, trimmedText } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { declareRows, pickFields, type Row, Rows } from "../work/Rows.ts"
import { type ApiKeyRow, ApiKeyRows } from "./ApiKey.ts"

// ---------------------------------------------------------------- data

export const Role = Schema.Literals(["owner", "admin", "member"])
export type Role = typeof Role.Type

export const Member = Schema.Struct({
  id: MemberId,
  name: Schema.String,
  email: Schema.String,
  role: Role.annotate({ description: "Owners and admins can have API keys." }),
  created_at: Timestamp
}).annotate({
  identifier: "Member",
  description: "A person who works for the organization, owns contacts, and is assigned conversations."
})
export interface Member extends Schema.Schema.Type<typeof Member> {}

/**
 * The columns of a member. `email_key`, the case-folded address, is unique among the members who have not left. A member
 * who has left stays in storage, because contacts, messages and keys refer to them. Sessions that began until `logged_out_at`
 * have ended.
 */
export const MemberColumns = Schema.Struct({
  ...Member.fields,
  email_key: Schema.String,
  left_at: Schema.NullOr(Timestamp),
  logged_out_at: Schema.NullOr(Timestamp)
})
export interface MemberColumns extends Schema.Schema.Type<typeof MemberColumns> {}

export type MemberRow = Row<MemberColumns>

export const MemberRows = declareRows(MemberColumns)({
  name: "members",
  key: { id: "uuid" },
  unique: { columns: ["email_key"], within: "organization", while_null: "left_at" },
  list: { order: ["created_at", "id"], while_null: "left_at" }
})

export const AddMember = Schema.Struct({
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  email: trimmedText({ min: 3, max: limits.email_chars_max }, emailLine).check(isEmail),
  role: Role
}).pipe(Schema.brand("AddMember"))
export interface AddMember extends Schema.Schema.Type<typeof AddMember> {}

// -------------------------------------------------------------- errors

export class MemberNotFound extends Schema.TaggedError<MemberNotFound>()("MemberNotFound", {}) {}

/** The organization already has a member with this address, ignoring case. */
export class MemberEmailTaken extends Schema.TaggedError<MemberEmailTaken>()("MemberEmailTaken", {
  email: Schema.String
}) {}

/** The change would leave the organization without an owner. Each organization has at least one. */
export class LastOwner extends Schema.TaggedError<LastOwner>()("LastOwner", {}) {}

// ----------------------------------------------------------- decisions

/** Returns the member as callers see it. */
export const toMember = pickFields(Member)

/** Returns whether the member no longer belongs to the organization. */
export const hasLeft = ({ left_at }: MemberRow): boolean => left_at !== null

/** Returns the member, unless they have left. */
export const unlessLeft = (found: Option.Option<MemberRow>): Option.Option<MemberRow> =>
  Option.filter(found, (member) => !hasLeft(member))

/** The roles of members who can have API keys (contract §4.2). */
export const key_roles: ReadonlyArray<Role> = ["owner", "admin"]

/** Returns whether a member of this role can create and have API keys (contract §4.2). */
export const mayHoldKeys = (role: Role): boolean => key_roles.includes(role)

/** Returns the columns of a new member. */
export const toColumns = (member: Member): MemberColumns => ({
  ...member,
  email_key: foldCase(member.email),
  left_at: null,
  logged_out_at: null
})

const add = (
  others: ReadonlyArray<Member>,
  input: AddMember,
  { now, uuid }: DecisionContext
): Result.Result<Changes.Decision<Member>, MemberEmailTaken> => {
  const member: Member = { id: MemberId.make(uuid()), ...input, created_at: now }
  return others.some(({ email }) => foldCase(email) === foldCase(member.email))
    ? Result.fail(new MemberEmailTaken({ email: member.email }))
    : Result.succeed({ result: member, changes: MemberRows.insert(toColumns(member)) })
}

/** A member, another owner whom the organization would keep, and the keys of the organization. */
interface LoadedForChange {
  readonly keys: ReadonlyArray<ApiKeyRow>
  readonly found: Option.Option<MemberRow>
  readonly other: Option.Option<MemberRow>
}

const isOwner = (member: MemberRow): boolean => member.role === "owner" && !hasLeft(member)

/** Changes the role of a member, or marks them as having left, and revokes their keys if they may not hold any afterward. */
export const change = resultFunction(
  function*(
    { found, keys, other }: LoadedForChange,
    set: Partial<Pick<MemberRow, "left_at" | "role">>,
    now: Timestamp
  ) {
    const row = yield* Result.fromOption(unlessLeft(found), () => new MemberNotFound())
    const changed = { ...row, ...set }
    const result = toMember(changed)
    const mayKeep = !hasLeft(changed) && mayHoldKeys(changed.role)
    const lost = mayKeep ? [] : keys.filter((key) => key.created_by === row.id && key.revoked_at === null)
    const changes = Changes.all(
      MemberRows.update(row, set),
      ...lost.map((key) => ApiKeyRows.update(key, { revoked_at: now }))
    )
    if (!isOwner(row) || isOwner(changed)) return { result, changes }
    // When two owners remove each other at the same time, this makes one of the two commits fail.
    const kept = yield* Result.fromOption(Option.filter(other, isOwner), () => new LastOwner())
    return { result, changes: Changes.all(changes, MemberRows.expect(kept)) }
  }
)

// ---------------------------------------------------------- operations

/** Operations on the current actor's members. */
export class Members extends Context.Service<Members, {
  readonly list: Effect.Effect<ReadonlyArray<Member>, never, CurrentActor>
  readonly add: (input: AddMember) => Effect.Effect<Member, MemberEmailTaken | ConcurrentChanges, CurrentActor>
  /** Changes a role. The keys of a member who is no longer owner or admin are revoked. */
  readonly setRole: (
    id: MemberId,
    role: Role
  ) => Effect.Effect<Member, LastOwner | MemberNotFound | ConcurrentChanges, CurrentActor>
  /** Marks a member as having left. Their keys are revoked; contacts and conversations keep referring to them. */
  readonly remove: (id: MemberId) => Effect.Effect<void, LastOwner | MemberNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/Members") {
  static readonly layer = Layer.effect(
    Members,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const rows = yield* Rows

      const list = operation("members.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return (yield* rows.list(MemberRows, organization_id)).map(toMember)
      })()

      const addMember = write("members.add", function*(input: AddMember) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.list(MemberRows, organization_id),
          decide: (others, context) => add(others, input, context)
        }
      })

      /**
       * Loads a member, and then their keys: a key that is created in between makes the
       * commit fail. If the member is an owner, also loads another owner.
       */
      const loadForChange = Effect.fnUntraced(function*(organization_id: OrganizationId, id: MemberId) {
        const found = yield* rows.find(MemberRows, organization_id, id)
        const keys = yield* rows.list(ApiKeyRows, organization_id)
        const loaded: LoadedForChange = { found, keys, other: Option.none() }
        if (!Option.exists(found, isOwner)) return loaded
        const others = yield* rows.list(MemberRows, organization_id)
        return { ...loaded, other: Array.findFirst(others, (member) => isOwner(member) && member.id !== id) }
      })

      const setRole = write("members.set_role", function*(id: MemberId, role: Role) {
        const { organization_id } = yield* CurrentActor
        return {
          load: loadForChange(organization_id, id),
          decide: (loaded, { now }) => change(loaded, { role }, now)
        }
      })

      const removeMember = write("members.remove", function*(id: MemberId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: loadForChange(organization_id, id),
          decide: (loaded, { now }) => change(loaded, { left_at: now }, now)
        }
      })

      return Members.of({ list, add: addMember, setRole, remove: (id) => Effect.asVoid(removeMember(id)) })
    })
  )
}
