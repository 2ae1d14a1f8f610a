/** Tests of the guarantees of `OrganizationStore`. */
import { assert } from "@effect/vitest"
import { type AuditFilters, AuditStore } from "@messaging-crm/core/Audit"
import { Country } from "@messaging-crm/core/Countries"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { type Member, MemberRows, toColumns, toMember } from "@messaging-crm/core/Members"
import { type Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Rows } from "@messaging-crm/core/Rows"
import { DateTime, Effect, Exit, Option } from "effect"
import { hardText, literal, moment, orNull } from "../Arbitraries.ts"
import { type It, newAuditRecord, noon, type Options, uuid } from "../Fixtures.ts"

const reads = (it: It, { runs }: Options) => {
  it.effect.prop("returns an organization and its owner as they were inserted, and none for another id", {
    name: hardText({ min: 1, max: 200 }),
    country: orNull(literal("DE", "GB")),
    created_at: moment
  }, ({ country, created_at, name }) =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const rows = yield* Rows
      const organization: Organization = {
        id: OrganizationId.make(yield* uuid),
        name,
        default_country: country === null ? null : Country.make(country),
        created_at
      }
      const id = MemberId.make(yield* uuid)
      const owner: Member = { id, name, email: "ada@acme.example", role: "owner", created_at }
      yield* store.insert(organization, toColumns(owner), yield* newAuditRecord(organization.id))
      assert.deepStrictEqual(yield* store.find(organization.id), Option.some({ ...organization, version: 1 }))
      assert.deepStrictEqual((yield* rows.list(MemberRows, organization.id)).map(toMember), [owner])
      assert.deepStrictEqual(yield* store.find(OrganizationId.make(yield* uuid)), Option.none())
    }), { arbitrary: { runs } })

  it.effect("lists the oldest first, then by id", () =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const made = yield* Effect.forEach([2, 0, 0, 1], (minutes) =>
        Effect.gen(function*() {
          const id = OrganizationId.make(yield* uuid)
          const created_at = DateTime.add(noon, { minutes })
          const member = { name: "Ada", email: "ada@acme.example", role: "owner" as const, created_at }
          yield* store.insert(
            { id, name: "Acme", default_country: null, created_at },
            toColumns({ ...member, id: MemberId.make(yield* uuid) }),
            yield* newAuditRecord(id)
          )
          return { id, name: "Acme", default_country: null, created_at }
        }))
      const [late, one, two, middle] = made
      const listed = (yield* store.list).filter(({ id }) => made.some((organization) => organization.id === id))
      const first = [one, two].toSorted((a, b) => String(a?.id) < String(b?.id) ? -1 : 1)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(listed, [...first, middle, late])
    }))
}

const takenIds = (it: It) => {
  it.effect("stores no second owner, name or audit record for an organization whose id is taken", () =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const rows = yield* Rows
      const organization: Organization = {
        id: OrganizationId.make(yield* uuid),
        name: "Acme",
        default_country: null,
        created_at: noon
      }
      const newOwner = Effect.map(uuid, (id): Member => ({
        id: MemberId.make(id),
        name: "Ada",
        email: `${id}@acme.example`,
        role: "owner",
        created_at: noon
      }))
      const [owner, other] = [yield* newOwner, yield* newOwner]
      const [record, again] = [yield* newAuditRecord(organization.id), yield* newAuditRecord(organization.id)]
      yield* store.insert(organization, toColumns(owner), record)
      const second = { ...organization, name: "Brick" }
      assert.isTrue(Exit.hasDies(yield* Effect.exit(store.insert(second, toColumns(other), again))))
      assert.deepStrictEqual(yield* store.find(organization.id), Option.some({ ...organization, version: 1 }))
      assert.deepStrictEqual((yield* rows.list(MemberRows, organization.id)).map(toMember), [owner])
      const every: AuditFilters = { resource_id: null, key_id: null, member_id: null, before: null }
      const records = yield* AuditStore.use((audit) => audit.list(organization.id, every, 9))
      assert.deepStrictEqual(records, [record])
    }))
}

export const portTests = (it: It, options: Options) => {
  reads(it, options)
  takenIds(it)
}
