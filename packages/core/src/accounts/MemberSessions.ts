/**
 * Sessions of members: people who use the service without an API key, such as in the console (contract §4.6).
 *
 * A session is kept by the program that begins it, with its expiry. Here it ends when the member leaves or logs out.
 */
import { Array, Context, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { type Actor, CurrentActor, Scope } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { Country } from "../kernel/Countries.ts"
import type { MemberId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { foldCase, lowerAscii } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import type * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import { type Member, MemberNotFound, type MemberRow, MemberRows, toMember, unlessLeft } from "./Members.ts"
import { OrganizationStore } from "./Organizations.ts"

// ---------------------------------------------------------------- data

/** A member who has logged in. */
export interface MemberSession {
  readonly organization_id: OrganizationId
  readonly member_id: MemberId
  readonly began_at: Timestamp
}

/** A session that begins. */
export interface BegunSession extends MemberSession {
  /** When the member last logged out. What the identity provider verified before must be verified again. */
  readonly logged_out_at: Timestamp | null
}

/** The result of a session's check: the member, the actor of their operations, and the setting of their organization. */
export interface AuthenticatedMember {
  readonly member: Member
  readonly actor: Actor & { readonly member_id: MemberId }
  readonly default_country: Country | null
}

/** The scopes of a member without an API key: all except the one for webhooks. */
const member_scopes: ReadonlyArray<Scope> = Scope.literals.filter((scope) => scope !== "webhooks:manage")

// -------------------------------------------------------------- errors

/** The session has ended: its member has left or logged out. */
export class SessionEnded extends Schema.TaggedError<SessionEnded>()("SessionEnded", {}) {}

// ----------------------------------------------------------- decisions

/** Returns whether the sessions of a member that began at a time have not ended. */
const isOpen = ({ logged_out_at }: MemberRow, began_at: Timestamp): boolean =>
  logged_out_at === null || DateTime.isGreaterThan(began_at, logged_out_at)

/**
 * Returns whether an address is that of a member, whatever the case of its ASCII letters. The key alone does not suffice: it is the same
 * for `straße.example` and `strasse.example`, which can belong to different people.
 */
const isAddressOf = (member: MemberRow, email: string): boolean => lowerAscii(member.email) === lowerAscii(email)

const logOut = (
  found: Option.Option<MemberRow>,
  { now }: DecisionContext
): Result.Result<Changes.Decision<Member>, MemberNotFound> =>
  Result.map(Result.fromOption(unlessLeft(found), () => new MemberNotFound()), (row) => ({
    result: toMember(row),
    changes: MemberRows.update(row, { logged_out_at: now })
  }))

// ---------------------------------------------------------- operations

/** The sessions of one organization's members. An identity provider verifies who the person is, before `begin`. */
export class MemberSessions extends Context.Service<MemberSessions, {
  /** Begins a session of the member with a verified email address. None if the organization has no such member. */
  readonly begin: (organization_id: OrganizationId, email: string) => Effect.Effect<Option.Option<BegunSession>>
  /** Checks a session. Call it for each request, so that a removed member loses access at once. */
  readonly authenticate: (session: MemberSession) => Effect.Effect<AuthenticatedMember, SessionEnded>
  /** Ends all sessions of a member that have begun until now. The member can be the current actor, without scopes. */
  readonly end: (id: MemberId) => Effect.Effect<void, MemberNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/MemberSessions") {
  static readonly layer = Layer.effect(
    MemberSessions,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const organizations = yield* OrganizationStore
      const rows = yield* Rows

      const begin = traced("MemberSessions.begin")(function*(organization_id: OrganizationId, email: string) {
        if (email.length > limits.email_chars_max) return Option.none()
        const key = foldCase(email)
        const members = yield* rows.list(MemberRows, organization_id)
        const began_at = yield* DateTime.now
        return Option.map(
          Array.findFirst(members, (member) => member.email_key === key && isAddressOf(member, email)),
          ({ id, logged_out_at }): BegunSession => ({ organization_id, member_id: id, began_at, logged_out_at })
        )
      })

      const authenticate = traced("MemberSessions.authenticate")(function*(session: MemberSession) {
        const { began_at, member_id, organization_id } = session
        const [found, organization] = yield* Effect.all(
          [rows.find(MemberRows, organization_id, member_id), organizations.find(organization_id)],
          concurrently
        )
        const open = Option.filter(unlessLeft(found), (row) => isOpen(row, began_at))
        const member = toMember(yield* Effect.fromOption(open, () => new SessionEnded()))
        const { default_country } = yield* Effect.fromOption(organization, () => new SessionEnded())
        return { member, actor: { organization_id, member_id, scopes: member_scopes }, default_country }
      })

      const logOutMember = write("members.log_out", function*(id: MemberId) {
        const { organization_id } = yield* CurrentActor
        return { load: rows.find(MemberRows, organization_id, id), decide: logOut }
      })

      return MemberSessions.of({ authenticate, begin, end: (id) => Effect.asVoid(logOutMember(id)) })
    })
  )
}
