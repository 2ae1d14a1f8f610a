/** Tests of the guarantees of `TagStore`. */
import { assert } from "@effect/vitest"
import { type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreateTag, type Tag, TagColor, TagRows, TagStore } from "@messaging-crm/core/Tags"
import { byCodePoint, foldCase } from "@messaging-crm/core/Text"
import { Arbitrary, Effect, Result } from "effect"
import { visibleHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import type { It, Options } from "../Fixtures.ts"

const createTag = Arbitrary.all({
  name: visibleHardText({ min: limits.tag_name_chars_min, max: limits.tag_name_chars_max }),
  color: Arbitrary.schema(TagColor)
})

const insert = Effect.fnUntraced(function*(organization_id: OrganizationId, input: CreateTag) {
  const tag: Tag = { id: TagId.make(yield* Fixtures.uuid), ...input }
  yield* Fixtures.commit(organization_id, TagRows.insert({ ...tag, name_key: foldCase(tag.name) }))
  return tag
})

const listed = (organization_id: OrganizationId) => TagStore.use((store) => store.list(organization_id))

const inserts = (it: It, { runs }: Options) => {
  it.effect.prop("returns a tag as it was inserted", { input: createTag }, ({ input }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const tag = yield* insert(ours, CreateTag.make(input))
      assert.deepStrictEqual(yield* listed(ours), [tag])
    }), { arbitrary: { runs } })

  it.effect.prop(
    "rejects a name that differs only in case, and writes nothing",
    { input: createTag },
    ({ input }) =>
      Effect.gen(function*() {
        const ours = yield* Fixtures.organization
        const tag = yield* insert(ours, CreateTag.make(input))
        const again = { ...input, name: input.name.toUpperCase() }
        assert.strictEqual((yield* Effect.flip(insert(ours, CreateTag.make(again))))._tag, "Conflict")
        assert.deepStrictEqual(yield* listed(ours), [tag])
      }),
    { arbitrary: { runs } }
  )

  it.effect("accepts exactly one of many concurrent inserts of a name", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const names = ["vip", "VIP", "Vip", "vIp", "viP"]
      const results = yield* Effect.all(
        names.map((name) => Effect.result(insert(ours, CreateTag.make({ name, color: "red" })))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(results.filter(Result.isSuccess), 1)
      assert.lengthOf(yield* listed(ours), 1)
    }))
}

const reads = (it: It, { runs }: Options) => {
  it.effect.prop("lists by name key, by code point", {
    inputs: Arbitrary.array(createTag, { maxLength: 8 })
  }, ({ inputs }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Effect.forEach(inputs, (input) => Effect.ignore(insert(ours, CreateTag.make(input))))
      const keys = (yield* listed(ours)).map((tag) => foldCase(tag.name))
      const expected = Array.from(new Set(inputs.map((input) => foldCase(input.name)))).toSorted(byCodePoint)
      assert.deepStrictEqual(keys, expected)
    }), { arbitrary: { runs } })

  it.effect("finds those of the given tags that the organization has, by name key", () =>
    Effect.gen(function*() {
      const store = yield* TagStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const b = yield* insert(ours, CreateTag.make({ name: "b", color: "red" }))
      const a = yield* insert(ours, CreateTag.make({ name: "a", color: "blue" }))
      yield* insert(ours, CreateTag.make({ name: "c", color: "blue" }))
      const foreign = yield* insert(theirs, CreateTag.make({ name: "a", color: "red" }))
      const unknown = TagId.make(yield* Fixtures.uuid)
      assert.deepStrictEqual(yield* store.findMany(ours, [b.id, foreign.id, unknown, a.id, b.id]), [a, b])
      assert.deepStrictEqual(yield* store.findMany(ours, []), [])
      assert.deepStrictEqual(yield* listed(theirs), [foreign])
    }))
}

export const portTests = (it: It, options: Options) => {
  inserts(it, options)
  reads(it, options)
}
