/** Tests of the messages of a failing model test. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertSame, differences, needed } from "../src/Model/Differences.ts"

it("a difference names its field, and both values", () => {
  const contact = { id: "c1", notes: "a".repeat(300), tags: ["VIP", "new"], city: null }
  const page = { data: [contact, contact], next_cursor: null }
  assert.deepStrictEqual(differences(page, structuredClone(page)), [])
  const other = { data: [contact, { ...contact, notes: "b", tags: ["VIP"], country: "DE" }], next_cursor: "x" }
  assert.deepStrictEqual(differences(page, other), [
    `result.data[1].notes: found "${"a".repeat(199)}… (302 characters), expected "b"`,
    "result.data[1].tags[1]: found \"new\", expected no such field",
    "result.data[1].country: found no such field, expected \"DE\"",
    "result.next_cursor: found null, expected \"x\""
  ])
  assert.deepStrictEqual(differences([], {}), ["result: found [], expected {}"])
  assert.deepStrictEqual(differences({ a: undefined }, {}), ["result.a: found undefined, expected no such field"])
  assert.throws(() => assertSame(page, other), /^The service differs from the model\.\nresult\.data\[1\]\.notes: found/)
  assert.doesNotThrow(() => assertSame(page, structuredClone(page)))
})

it.effect("of the commands, those remain that the failure needs", () =>
  Effect.gen(function*() {
    const fails = (items: ReadonlyArray<number>) => Effect.succeed(items.includes(3) && items.includes(7))
    assert.deepStrictEqual(yield* needed([0, 3, 0, 0, 7, 0, 3], fails), [3, 7])
  }))
