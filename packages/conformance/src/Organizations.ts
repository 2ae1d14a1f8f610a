/** The promises of `OrganizationStore`, as tests. */
import { assert } from "@effect/vitest"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { type Member, MemberStore, toColumns } from "@messaging-crm/core/Members"
import { type Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect, Exit, Option } from "effect"
import { hardText, moment } from "./Arbitraries.ts"
import { type It, noon, type Options, uuid } from "./Fixtures.ts"

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns an organization and its owner as they were inserted, and none for another id", {
    name: hardText({ min: 1, max: 200 }),
    created_at: moment
  }, ({ created_at, name }) =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const members = yield* MemberStore
      const organization: Organization = { id: OrganizationId.make(yield* uuid), name, created_at }
      const id = MemberId.make(yield* uuid)
      const owner: Member = { id, name, email: "ada@acme.example", role: "owner", created_at }
      yield* store.insert(organization, toColumns(owner))
      assert.deepStrictEqual(yield* store.find(organization.id), Option.some({ ...organization, version: 1 }))
      assert.deepStrictEqual(yield* members.list(organization.id), [owner])
      assert.deepStrictEqual(yield* store.find(OrganizationId.make(yield* uuid)), Option.none())
    }), { arbitrary: { runs } })

  it.effect("keeps neither an organization nor its owner when one of them cannot be", () =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const members = yield* MemberStore
      const organization: Organization = { id: OrganizationId.make(yield* uuid), name: "Acme", created_at: noon }
      const newOwner = Effect.map(uuid, (id): Member => ({
        id: MemberId.make(id),
        name: "Ada",
        email: `${id}@acme.example`,
        role: "owner",
        created_at: noon
      }))
      const [owner, other] = [yield* newOwner, yield* newOwner]
      yield* store.insert(organization, toColumns(owner))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(store.insert(organization, toColumns(other)))))
      assert.deepStrictEqual(yield* members.list(organization.id), [owner])
    }))
}
