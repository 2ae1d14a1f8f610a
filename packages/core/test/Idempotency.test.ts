import { assert, describe, it } from "@effect/vitest"
import { key_pattern, parseKey } from "@messaging-crm/core/Idempotency"
import { limits } from "@messaging-crm/core/Limits"
import { Arbitrary, Option, Schema } from "effect"

const { idempotency_key_chars_max: max, idempotency_key_chars_min: min } = limits

const character = Arbitrary.schema(
  Schema.Literals(["\t", " ", "!", "\"", "\\", "a", "~", "\u007F", "\u00E9", "\u00A0"])
)

/** What an HTTP parser lets into a header, printable or not: many are too short, or too long by little. */
const header = Arbitrary.array(character, { maxLength: 12 }).pipe(
  Arbitrary.map((characters) => characters.join("")),
  Arbitrary.flatMap((start) =>
    Arbitrary.map(Arbitrary.schema(Schema.Literals([0, 1, 185, 190, 195])), (more) => start + "x".repeat(more))
  )
)

describe("an idempotency key", () => {
  it("is 8 to 200 characters, taken literally: spaces inside and quotes belong to it", () => {
    for (
      const key of [
        "order 4711 99",
        "x".repeat(min),
        "x".repeat(max),
        `${"x".repeat(max - 2)} x`,
        "{\"a\":\"b\"}",
        "\"order-4711\"",
        "\"123456\"",
        "\"\\\"12345"
      ]
    ) {
      assert.deepStrictEqual(parseKey(key) as Option.Option<string>, Option.some(key))
    }
    for (
      const key of ["x".repeat(min - 1), "x".repeat(max + 1), `${"x".repeat(min - 1)} `, "", `"${"x".repeat(max - 1)}"`]
    ) {
      assert.isTrue(Option.isNone(parseKey(key)), key)
    }
  })

  it.prop("is what the documented pattern and lengths say, whatever a header holds", { header }, ({ header }) => {
    const fits = header.length >= min && header.length <= max && key_pattern.test(header)
    assert.strictEqual(Option.isSome(parseKey(header)), fits)
  })

  it("of any length is refused at once", () => {
    for (const text of [`a${" ".repeat(16_000)}a`, `a${" ".repeat(16_000)}`, `"${"\\\\".repeat(8000)}`]) {
      for (let times = 0; times < 1000; times++) assert.isTrue(Option.isNone(parseKey(text)))
    }
  })
})
