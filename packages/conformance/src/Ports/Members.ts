/** Tests of the guarantees of `MemberStore`. */
import { assert } from "@effect/vitest"
import { MemberId } from "@messaging-crm/core/Ids"
import { type Member, MemberRows, MemberStore, toColumns } from "@messaging-crm/core/Members"
import { Effect, Option } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

const insert = (member: Member) => MemberRows.insert(toColumns(member))

/** A member that is not stored yet. */
const newMember = (email: string, fields: Partial<Member> = {}) =>
  Effect.map(Fixtures.uuid, (id): Member => ({
    id: MemberId.make(id),
    name: "Ada",
    email,
    role: "admin",
    created_at: Fixtures.noon,
    ...fields
  }))

const inserts = (it: It, { runs }: Options) => {
  it.effect.prop("returns a member as it was inserted", {
    name: hardText({ min: 1, max: 100 }),
    email: hardText({ min: 3, max: 100 })
  }, ({ email, name }) =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const { organization_id: ours, owner } = yield* Fixtures.organizationWithOwner
      const member = yield* newMember(email, { name })
      yield* Fixtures.mustCommit(ours, insert(member))
      assert.deepStrictEqual(yield* store.find(ours, member.id), Option.some({ ...member, left_at: null, version: 1 }))
      assert.deepStrictEqual(yield* store.list(ours), [owner, member])
    }), { arbitrary: { runs } })

  it.effect.prop("rejects the address of a current member in upper or lower case, and writes nothing", {
    email: hardText({ min: 3, max: 100 })
  }, ({ email }) =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const { organization_id: ours, owner } = yield* Fixtures.organizationWithOwner
      const [first, second] = [yield* newMember(email), yield* newMember(email.toUpperCase())]
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, insert(first)), "committed")
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, insert(second)), "Conflict")
      assert.deepStrictEqual(yield* store.list(ours), [owner, first])
    }), { arbitrary: { runs } })

  it.effect("accepts one of many concurrent members with one address", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const ours = yield* Fixtures.organization
      const attempts = Array.from({ length: 8 }, () =>
        Effect.flatMap(newMember("a@b"), (member) => Fixtures.commitOutcome(ours, insert(member))))
      const outcomes = yield* Effect.all(attempts, { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(7))
      assert.lengthOf(yield* store.list(ours), 2)
    }))
}

const departures = (it: It) => {
  it.effect("lists the current members, oldest first, then by id, and finds those who left too", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const { organization_id: ours, owner } = yield* Fixtures.organizationWithOwner
      const listed = Effect.map(store.list(ours), (members) => members.map(({ id }) => id))
      const old = yield* Effect.all([newMember("a@b"), newMember("b@b")])
      const young = yield* newMember("c@b", { created_at: afterNoon(1) })
      yield* Fixtures.mustCommit(ours, ...[young, ...old].map(insert))
      const tied = [owner, ...old].map(({ id }) => id).toSorted()
      assert.deepStrictEqual(yield* listed, [...tied, young.id])
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id: young.id, version: 1 }, { left_at: afterNoon(9) }))
      assert.deepStrictEqual(yield* listed, tied)
      assert.deepStrictEqual(
        yield* store.find(ours, young.id),
        Option.some({ ...young, left_at: afterNoon(9), version: 2 })
      )
    }))

  it.effect("frees the address of a member who leaves, and writes a role", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const { organization_id: ours, owner } = yield* Fixtures.organizationWithOwner
      const [first, second] = [yield* newMember("a@b"), yield* newMember("a@b")]
      yield* Fixtures.mustCommit(ours, insert(first))
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id: first.id, version: 1 }, { left_at: afterNoon(1) }))
      yield* Fixtures.mustCommit(ours, insert(second))
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id: second.id, version: 1 }, { role: "owner" }))
      assert.deepStrictEqual(yield* store.list(ours), [owner, { ...second, role: "owner" }])
    }))
}

const separation = (it: It) => {
  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const [one, other] = [yield* Fixtures.organizationWithOwner, yield* Fixtures.organizationWithOwner]
      const [ours, theirs] = [one.organization_id, other.organization_id]
      const [mine, yours] = [yield* newMember("a@b"), yield* newMember("a@b")]
      yield* Fixtures.mustCommit(ours, insert(mine))
      yield* Fixtures.mustCommit(theirs, insert(yours))
      assert.deepStrictEqual(yield* store.find(theirs, mine.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs), [other.owner, yours])
      const row = { id: mine.id, version: 1 }
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, MemberRows.update(row, { role: "member" })), "Conflict")
      assert.strictEqual(
        yield* Fixtures.commitOutcome(theirs, MemberRows.update(row, { left_at: afterNoon(1) })),
        "Conflict"
      )
      assert.deepStrictEqual(yield* store.list(ours), [one.owner, mine])
    }))
}

export const portTests = (it: It, options: Options) => {
  inserts(it, options)
  departures(it)
  separation(it)
}
