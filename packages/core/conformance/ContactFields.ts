/** The promises of `ContactFieldStore`, as tests. */
import { assert } from "@effect/vitest"
import { type ContactField, ContactFieldKeyTaken, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { ContactFieldId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Arbitrary, Effect } from "effect"
import { hardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

export const suite = (it: It, { runs }: Options) => {
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

  it.effect.prop("returns fields as they were inserted, oldest first", {
    name: hardText({ min: 1, max: 200 }),
    options: Arbitrary.array(hardText({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 })
  }, ({ name, options }) =>
    Effect.gen(function*() {
      const store = yield* ContactFieldStore
      const ours = yield* Fixtures.organization
      const younger = yield* newField({ name, created_at: after(1) })
      const older = yield* newField({ type: "select", options })
      yield* store.insert(ours, younger)
      yield* store.insert(ours, older)
      assert.deepStrictEqual(yield* store.list(ours), [older, younger])
    }), { arbitrary: { runs } })

  it.effect("refuses a key that the organization has, writes nothing, and leaves a unit of work usable", () =>
    Effect.gen(function*() {
      const store = yield* ContactFieldStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [first, second] = [yield* newField({ key: "plan" }), yield* newField({ key: "plan" })]
      const third = yield* newField({ key: "size", created_at: after(1) })
      yield* transact(Effect.gen(function*() {
        yield* Effect.orDie(store.insert(ours, first))
        assert.instanceOf(yield* Effect.flip(store.insert(ours, second)), ContactFieldKeyTaken)
        yield* Effect.orDie(store.insert(ours, third))
      }))
      assert.deepStrictEqual(yield* store.list(ours), [first, third])
      yield* store.insert(theirs, second)
      assert.deepStrictEqual(yield* store.list(theirs), [second])
    }))
}
