/** Tests of the guarantees of `AuditStore`, and of the records that commits, imports and new organizations store. */
import { assert } from "@effect/vitest"
import { type AuditFilters, type AuditRecord, AuditStore } from "@messaging-crm/core/Audit"
import { ContactRows, ContactStore, insertContact } from "@messaging-crm/core/Contacts"
import { ApiKeyId, MemberId, type OrganizationId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, commitOutcome, type It, type Options } from "../Fixtures.ts"

const every: AuditFilters = { resource_id: null, key_id: null, member_id: null, before: null }

const listed = (organization_id: OrganizationId, filters: Partial<AuditFilters> = {}, limit = 100) =>
  AuditStore.use((store) => store.list(organization_id, { ...every, ...filters }, limit)).pipe(
    // Every organization has the record of its own creation.
    Effect.map((records) => records.filter(({ operation }) => operation !== "organizations.create"))
  )

const newest = (records: ReadonlyArray<AuditRecord>) => Fixtures.newestFirst(records, ({ at }) => at)

const reads = (it: It, { runs }: Options) => {
  it.effect.prop("returns a record as it was committed, to its organization only", {
    request_id: hardText({ min: 1, max: 100 })
  }, ({ request_id }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const record = yield* Fixtures.newAuditRecord(yield* Fixtures.uuid, {
        key_id: ApiKeyId.make(yield* Fixtures.uuid),
        member_id: MemberId.make(yield* Fixtures.uuid),
        request_id
      })
      const operators = yield* Fixtures.newAuditRecord(yield* Fixtures.uuid)
      yield* Fixtures.mustCommit(ours, { audit: record })
      yield* Fixtures.mustCommit(ours, { audit: operators })
      assert.deepStrictEqual(yield* listed(ours), newest([record, operators]))
      assert.deepStrictEqual(yield* listed(yield* Fixtures.organization), [])
    }), { arbitrary: { runs } })

  it.effect("lists the newest first, those that pass every filter", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [resource_id, other] = [yield* Fixtures.uuid, yield* Fixtures.uuid]
      const key_id = ApiKeyId.make(yield* Fixtures.uuid)
      const member_id = MemberId.make(yield* Fixtures.uuid)
      const records = [
        yield* Fixtures.newAuditRecord(resource_id, { at: afterNoon(2), key_id, member_id }),
        yield* Fixtures.newAuditRecord(other, { at: afterNoon(3), key_id, member_id }),
        yield* Fixtures.newAuditRecord(resource_id, { at: afterNoon(1), member_id }),
        yield* Fixtures.newAuditRecord(other, { at: afterNoon(1) })
      ]
      for (const audit of records) yield* Fixtures.mustCommit(ours, { audit })
      const [first, second, third, fourth] = records
      const expected: ReadonlyArray<readonly [Partial<AuditFilters>, ReadonlyArray<AuditRecord | undefined>]> = [
        [{ resource_id }, [first, third]],
        [{ key_id }, [second, first]],
        [{ member_id }, [second, first, third]],
        [{ before: afterNoon(2), resource_id: other }, [fourth]],
        [{ key_id, resource_id: other, before: afterNoon(3) }, []]
      ]
      assert.deepStrictEqual(yield* listed(ours), newest(records))
      assert.deepStrictEqual(yield* listed(ours, {}, 2), newest(records).slice(0, 2))
      for (const [filters, records] of expected) assert.deepStrictEqual<unknown>(yield* listed(ours, filters), records)
    }))
}

const writes = (it: It) => {
  it.effect("stores no record of a commit that is rejected", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const audit = yield* Fixtures.newAuditRecord(id)
      const change = ContactRows.update({ id, version: 2 }, { company: "Brick" })
      assert.strictEqual(yield* commitOutcome(ours, change, { audit }), "Conflict")
      assert.deepStrictEqual(yield* listed(ours), [])
      assert.strictEqual(
        yield* commitOutcome(ours, ContactRows.update({ id, version: 1 }, { company: "Brick" }), { audit }),
        "committed"
      )
      assert.deepStrictEqual(yield* listed(ours), [audit])
    }))

  it.effect("stores each record of many concurrent commits", () =>
    Effect.gen(function*() {
      const [even, odd] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const records = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, number) => number),
        (number) => Fixtures.newAuditRecord(`${number}`.padStart(8, "0") + "-0000-4000-8000-000000000000")
      )
      yield* Effect.forEach(records, (audit, number) =>
        Effect.flatMap(Fixtures.newContact, (contact) =>
          Fixtures.mustCommit(number % 2 === 0 ? even : odd, insertContact(contact), { audit })), {
        concurrency: "unbounded"
      })
      for (const [parity, ours] of [even, odd].entries()) {
        const stored = records.filter((_, number) =>
          number % 2 === parity
        )
        assert.deepStrictEqual(yield* listed(ours), newest(stored))
      }
    }))

  it.effect("stores the records of contacts that an import inserts, and of a new organization", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const founded = yield* AuditStore.use((audit) => audit.list(ours, every, 9))
      assert.deepStrictEqual(
        founded.map(({ operation, resource_id }) => ({ operation, resource_id })),
        [{ operation: "organizations.create", resource_id: ours }]
      )
      const existing = yield* Fixtures.contact(ours)
      const unsaved = yield* Fixtures.newContact
      const recordOf = (id: string) => Fixtures.newAuditRecord(id, { operation: "contacts.import" })
      const records = [yield* recordOf(existing.id), yield* recordOf(unsaved.id)]
      assert.deepStrictEqual(yield* store.insertNew(ours, [existing, unsaved], records), [unsaved.id])
      assert.deepStrictEqual(yield* listed(ours), records.slice(1))
    }))
}

const purges = (it: It) => {
  it.effect("deletes records that are old enough, the oldest first, up to the limit", () =>
    Effect.gen(function*() {
      const store = yield* AuditStore
      const old = afterNoon(-1_000_000)
      while ((yield* store.purge(old, 1000)) > 0) continue
      const ours = yield* Fixtures.organization
      const records = yield* Effect.forEach(
        [-1_000_000, -1_000_001, -1_000_002, -1_000_003],
        (millis) => Effect.flatMap(Fixtures.uuid, (id) => Fixtures.newAuditRecord(id, { at: afterNoon(millis) }))
      )
      for (const audit of records) yield* Fixtures.mustCommit(ours, { audit })
      for (const [removed, left] of [[2, 2], [1, 1], [0, 1]] as const) {
        assert.strictEqual(yield* store.purge(old, 2), removed)
        assert.deepStrictEqual(yield* listed(ours), records.slice(0, left))
      }
    }))
}

export const portTests = (it: It, options: Options) => {
  reads(it, options)
  writes(it)
  purges(it)
}
