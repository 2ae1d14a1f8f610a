/** Sessions of members: who can begin one, what they can do, and when it ends. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Audit } from "@messaging-crm/core/Audit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { type MemberSession, MemberSessions } from "@messaging-crm/core/MemberSessions"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Exit, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

const outcomeOf = <A, R>(check: Effect.Effect<A, { readonly _tag: string }, R>) =>
  Effect.match(check, { onFailure: ({ _tag }) => _tag, onSuccess: () => "open" })

const add = (organization_id: OrganizationId, email: string) =>
  Members.use((members) => members.add(AddMember.make({ name: "Grace", email, role: "member" }))).pipe(
    Effect.provideService(CurrentActor, { organization_id, member_id: null })
  )

const end = ({ member_id, organization_id }: MemberSession) =>
  MemberSessions.use((sessions) => sessions.end(member_id)).pipe(
    Effect.provideService(CurrentActor, { organization_id, member_id })
  )

/** A member with a session that began a minute ago. */
const loggedIn = Effect.gen(function*() {
  const sessions = yield* MemberSessions
  const organization_id = yield* Fixtures.organization
  const member = yield* add(organization_id, "Grace@Acme.example")
  const session = Option.getOrThrow(yield* sessions.begin(organization_id, "grace@acme.EXAMPLE"))
  yield* TestClock.adjust("1 minute")
  return { member, organization_id, session, sessions }
})

/** Addresses of members, each in another case, and with addresses of other mailboxes that differ from it beyond ASCII only. */
const addresses = [
  ["kim@straße.example", "KIM@STRAßE.Example", [
    "kim@strasse.example",
    "kim@STRASSE.example",
    "kim@stra\u1E9Ee.example"
  ]],
  ["mike@acme.example", "Mike@Acme.example", ["mi\u212Ae@acme.example"]],
  ["josé@acme.example", "JOSé@acme.example", ["josÉ@acme.example", "jose@acme.example"]]
] as const

const beginnings = (it: Scene.It) => {
  it.effect("begin for a member of the organization only", () =>
    Effect.gen(function*() {
      const { member, organization_id, session, sessions } = yield* loggedIn
      assert.deepInclude(session, { organization_id, member_id: member.id })
      const other = yield* Fixtures.organization
      yield* add(other, "elsewhere@acme.example")
      for (const email of ["elsewhere@acme.example", "", "grace", `${"g".repeat(400)}@acme.example`]) {
        assert.isTrue(Option.isNone(yield* sessions.begin(organization_id, email)), email)
      }
    }))

  it.effect("begin for the member's own address, and not for one that only counts as the same", () =>
    Effect.gen(function*() {
      const sessions = yield* MemberSessions
      const organization_id = yield* Fixtures.organization
      for (const [email, same, others] of addresses) {
        const { id } = yield* add(organization_id, email)
        const session = yield* sessions.begin(organization_id, same)
        assert.strictEqual(Option.getOrThrow(session).member_id, id)
        for (const other of others) assert.isTrue(Option.isNone(yield* sessions.begin(organization_id, other)), other)
      }
    }))

  it.effect("let a member write, with an audit record that names the member and no key", () =>
    Effect.gen(function*() {
      const { member, organization_id, session, sessions } = yield* loggedIn
      const { actor, member: found } = yield* sessions.authenticate(session)
      assert.deepStrictEqual(found, member)
      yield* Tags.use((tags) => tags.create(CreateTag.make({ name: "vip", color: "red" }))).pipe(
        Effect.provideService(CurrentActor, actor)
      )
      const [record] = yield* Audit.use(({ list }) =>
        list({ resource_id: null, key_id: null, member_id: member.id, before: null }, 1)
      ).pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }))
      assert.deepInclude(record, { operation: "tags.create", member_id: member.id, key_id: null })
      const listed = yield* Webhooks.use(({ list }) => list({ status: null })).pipe(
        Effect.provideService(CurrentActor, actor),
        Effect.exit
      )
      assert.isTrue(Exit.hasDies(listed))
    }))
}

const ends = (it: Scene.It) => {
  it.effect("end when the member leaves", () =>
    Effect.gen(function*() {
      const { member, organization_id, session, sessions } = yield* loggedIn
      assert.strictEqual(yield* outcomeOf(sessions.authenticate(session)), "open")
      yield* Members.use(({ remove }) => remove(member.id)).pipe(
        Effect.provideService(CurrentActor, { organization_id, member_id: null })
      )
      assert.strictEqual(yield* outcomeOf(sessions.authenticate(session)), "SessionEnded")
      assert.isTrue(Option.isNone(yield* sessions.begin(organization_id, member.email)))
      assert.strictEqual(yield* outcomeOf(end(session)), "MemberNotFound")
    }))

  it.effect("end when the member logs out, and not those that begin later", () =>
    Effect.gen(function*() {
      const { member, organization_id, session, sessions } = yield* loggedIn
      const begin = Effect.map(sessions.begin(organization_id, member.email), Option.getOrThrow)
      const atOnce = yield* begin
      yield* end(atOnce)
      for (const ended of [session, atOnce]) {
        assert.strictEqual(yield* outcomeOf(sessions.authenticate(ended)), "SessionEnded")
      }
      const logged_out_at = yield* DateTime.now
      yield* TestClock.adjust("1 second")
      const later = yield* begin
      assert.strictEqual(yield* outcomeOf(sessions.authenticate(later)), "open")
      assert.deepStrictEqual([session.logged_out_at, later.logged_out_at], [null, logged_out_at])
    }))

  it.effect("are of one organization", () =>
    Effect.gen(function*() {
      const { session, sessions } = yield* loggedIn
      const organization_id = yield* Fixtures.organization
      assert.strictEqual(yield* outcomeOf(sessions.authenticate({ ...session, organization_id })), "SessionEnded")
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("sessions of members", (it) => {
    beginnings(it)
    ends(it)
  })
}
