/** Tests of the guarantees of `ContactFieldStore`. */
import { assert } from "@effect/vitest"
import { type ContactField, ContactFieldRows, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { ContactFieldId } from "@messaging-crm/core/Ids"
import { Arbitrary, Effect } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

const newField = (fields: Partial<ContactField>) =>
  Effect.map(Fixtures.uuid, (id): ContactField => ({
    id: ContactFieldId.make(id),
    key: `f_${id.replaceAll("-", "_")}`,
    name: "Plan",
    type: "text",
    options: null,
    created_at: Fixtures.noon,
    ...fields
  }))

const reads = (it: It, { runs }: Options) => {
  it.effect.prop("returns fields as they were inserted, oldest first, then by id", {
    name: hardText({ min: 1, max: 200 }),
    options: Arbitrary.array(hardText({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 })
  }, ({ name, options }) =>
    Effect.gen(function*() {
      const store = yield* ContactFieldStore
      const ours = yield* Fixtures.organization
      const younger = yield* newField({ name, created_at: afterNoon(1) })
      const [older, tied] = [yield* newField({ type: "select", options }), yield* newField({})]
      yield* Fixtures.mustCommit(ours, ...[younger, tied, older].map(ContactFieldRows.insert))
      assert.deepStrictEqual(yield* store.list(ours), [older, tied, younger])
    }), { arbitrary: { runs } })

  it.effect("returns to each of many concurrent callers the fields of its own organization", () =>
    Effect.gen(function*() {
      const store = yield* ContactFieldStore
      const [ours, theirs, empty] = [
        yield* Fixtures.organization,
        yield* Fixtures.organization,
        yield* Fixtures.organization
      ]
      const [mine, yours] = [yield* newField({}), yield* newField({})]
      yield* Fixtures.mustCommit(ours, ContactFieldRows.insert(mine))
      yield* Fixtures.mustCommit(theirs, ContactFieldRows.insert(yours))
      const lists = yield* Effect.forEach([ours, empty, theirs, ours, empty], store.list, { concurrency: "unbounded" })
      assert.deepStrictEqual(lists, [[mine], [], [yours], [mine], []])
    }))
}

const takenKeys = (it: It) => {
  it.effect("rejects a key that the organization has, and writes nothing", () =>
    Effect.gen(function*() {
      const store = yield* ContactFieldStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [first, second] = [yield* newField({ key: "plan" }), yield* newField({ key: "plan" })]
      const third = yield* newField({ key: "size", created_at: afterNoon(1) })
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ContactFieldRows.insert(first)), "committed")
      const inserts = [ContactFieldRows.insert(third), ContactFieldRows.insert(second)]
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ...inserts), "Conflict")
      assert.deepStrictEqual(yield* store.list(ours), [first])
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ContactFieldRows.insert(third)), "committed")
      assert.deepStrictEqual(yield* store.list(ours), [first, third])
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, ContactFieldRows.insert(second)), "committed")
      assert.deepStrictEqual(yield* store.list(theirs), [second])
    }))
}

export const portTests = (it: It, options: Options) => {
  reads(it, options)
  takenKeys(it)
}
