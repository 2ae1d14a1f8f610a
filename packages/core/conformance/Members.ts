/** The promises of `MemberStore`, as tests. */
import { assert } from "@effect/vitest"
import { MemberId } from "@messaging-crm/core/Ids"
import { type Member, MemberEmailTaken, MemberStore } from "@messaging-crm/core/Members"
import { foldCase } from "@messaging-crm/core/Text"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Effect, Option, Result } from "effect"
import { hardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

export const suite = (it: It, { runs }: Options) => {
  const newMember = (email: string, fields: Partial<Member> = {}) =>
    Effect.map(Fixtures.uuid, (id): Member => ({
      id: MemberId.make(id),
      name: "Ada",
      email,
      role: "admin",
      created_at: Fixtures.noon,
      ...fields
    }))

  it.effect.prop("refuses the address of a present member in any case, and writes nothing", {
    email: hardText({ min: 3, max: 100 })
  }, ({ email }) =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const ours = yield* Fixtures.organization
      const [first, second] = [yield* newMember(email), yield* newMember(email.toUpperCase())]
      yield* store.insert(ours, first, foldCase(first.email))
      assert.instanceOf(yield* Effect.flip(store.insert(ours, second, foldCase(second.email))), MemberEmailTaken)
      assert.deepStrictEqual(yield* store.list(ours), [first])
    }), { arbitrary: { runs } })

  it.effect("leaves a unit of work usable after a refused address", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const [first, second, third] = [yield* newMember("a@b"), yield* newMember("a@b"), yield* newMember("c@d")]
      yield* transact(Effect.gen(function*() {
        yield* store.insert(ours, first, "a@b")
        yield* Effect.flip(store.insert(ours, second, "a@b"))
        yield* Effect.orDie(store.insert(ours, third, "c@d"))
      }))
      assert.lengthOf(yield* store.list(ours), 2)
    }))

  it.effect("lets one of many concurrent members with one address in", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const ours = yield* Fixtures.organization
      const attempts = yield* Effect.forEach(Array.from({ length: 8 }), () =>
        Effect.map(newMember("a@b"), (member) => Effect.result(store.insert(ours, member, "a@b"))))
      const results = yield* Effect.all(attempts, { concurrency: "unbounded" })
      assert.lengthOf(results.filter(Result.isSuccess), 1)
    }))

  it.effect("lists the present members, oldest first, then by id, and finds those who left too", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const ours = yield* Fixtures.organization
      const listed = Effect.map(store.list(ours), (members) => members.map(({ id }) => id))
      const old = yield* Effect.all([newMember("a@b"), newMember("b@b")])
      const young = yield* newMember("c@b", { created_at: after(1) })
      yield* Effect.forEach([young, ...old], (member) => Effect.orDie(store.insert(ours, member, member.email)))
      const tied = old.map(({ id }) => id).toSorted()
      assert.deepStrictEqual(yield* listed, [...tied, young.id])
      assert.isTrue(yield* store.remove(ours, young.id, after(9)))
      assert.deepStrictEqual(yield* listed, tied)
      assert.deepStrictEqual(yield* store.find(ours, young.id), Option.some({ member: young, left_at: after(9) }))
    }))

  it.effect("frees the address of a member who leaves, and answers false for who is gone", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const ours = yield* Fixtures.organization
      const [first, second] = [yield* newMember("a@b"), yield* newMember("a@b")]
      yield* store.insert(ours, first, "a@b")
      assert.isTrue(yield* store.remove(ours, first.id, after(1)))
      assert.isFalse(yield* store.remove(ours, first.id, after(2)))
      assert.isFalse(yield* store.setRole(ours, first.id, "owner"))
      yield* store.insert(ours, second, "a@b")
      assert.isTrue(yield* store.setRole(ours, second.id, "owner"))
      assert.deepStrictEqual(yield* store.list(ours), [{ ...second, role: "owner" }])
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* MemberStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [mine, yours] = [yield* newMember("a@b"), yield* newMember("a@b")]
      yield* store.insert(ours, mine, "a@b")
      yield* store.insert(theirs, yours, "a@b")
      assert.deepStrictEqual(yield* store.find(theirs, mine.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs), [yours])
      assert.isFalse(yield* store.setRole(theirs, mine.id, "member"))
      assert.isFalse(yield* store.remove(theirs, mine.id, after(1)))
      assert.deepStrictEqual(yield* store.list(ours), [mine])
    }))
}
