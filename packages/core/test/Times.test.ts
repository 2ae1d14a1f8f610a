import { assert, describe, it } from "@effect/vitest"
import { fromMillis, ifIndistinguishable, isoOf } from "@messaging-crm/core/Timestamps"
import { Arbitrary, DateTime, Equal, Hash, Schema } from "effect"

/** Any moment that a `Date` can be, also before 1970 and of years with five digits. */
const millis = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -8.64e15, maximum: 8.64e15 })))

it.prop("writes a moment as `toISOString` does, also twice and the next millisecond", { millis }, ({ millis }) => {
  const bounds = ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"].map((text) => Date.parse(text))
  const around = bounds.flatMap((bound) => [bound - 1, bound, bound + 1])
  // Few of all moments have a year of four digits, half of the second ones have.
  const given = [millis, Math.trunc(millis / 30)].flatMap((at) => [at, at, Math.min(at + 1, 8.64e15)])
  for (const each of [...given, 0, -1, ...around]) {
    assert.strictEqual(isoOf(DateTime.makeUnsafe(each)), new Date(each).toISOString())
  }
})

it.prop("makes times that Effect cannot tell from its own", { millis }, ({ millis }) => {
  const [ours, own] = [fromMillis(millis), DateTime.makeUnsafe(millis)]
  assert.isTrue(DateTime.isUtc(ours))
  assert.isTrue(Equal.equals(ours, own) && Equal.equals(own, ours) && Hash.hash(ours) === Hash.hash(own))
  assert.isTrue(Schema.is(Schema.DateTimeUtc)(ours))
  for (const at of [ours, own]) assert.strictEqual(JSON.stringify({ at }), JSON.stringify({ at: new Date(millis) }))
  assert.deepStrictEqual(DateTime.toPartsUtc(ours), DateTime.toPartsUtc(own))
  assert.strictEqual(String(ours), String(own))
})

describe("a constructor of times", () => {
  const { makeUnsafe } = DateTime
  // Each has the parameter of a constructor, and returns what a later version of Effect could tell from its own times.
  const unsafe: Readonly<Record<string, (millis: number) => DateTime.Utc>> = {
    "throws": () => {
      throw new TypeError("The prototype has changed.")
    },
    "makes plain objects": (epochMilliseconds) => ({ epochMilliseconds }) as DateTime.Utc,
    "makes other times": (millis) => makeUnsafe(millis + 1)
  }
  for (const [name, make] of Object.entries(unsafe)) {
    it(`that ${name} is replaced by Effect's`, () => assert.strictEqual(ifIndistinguishable(make), makeUnsafe))
  }

  it("whose times equal Effect's is used", () => {
    const make = (millis: number) => makeUnsafe(millis)
    assert.strictEqual(ifIndistinguishable(make), make)
    assert.notStrictEqual(fromMillis, makeUnsafe)
  })
})
