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
  it("has spaces inside, and is 8 to 200 characters", () => {
    for (
      const key of ["order 4711 99", "x".repeat(min), "x".repeat(max), `${"x".repeat(max - 2)} x`, "{\"a\":\"b\"}"]
    ) {
      assert.deepStrictEqual(parseKey(key) as Option.Option<string>, Option.some(key))
      assert.deepStrictEqual(parseKey(` \t${key}\t `) as Option.Option<string>, Option.some(key))
    }
    for (const key of ["x".repeat(min - 1), "x".repeat(max + 1), `${"x".repeat(min - 1)} `, "", "\"1234567\""]) {
      assert.isTrue(Option.isNone(parseKey(key)), key)
    }
  })

  it.prop("is what the documented pattern and lengths say, whatever a header holds", { header }, ({ header }) => {
    const trimmed = header.replace(/^[ \t]+/, "").replace(/[ \t]+$/, "")
    if (trimmed.startsWith("\"")) return
    const fits = trimmed.length >= min && trimmed.length <= max && key_pattern.test(trimmed)
    assert.strictEqual(Option.isSome(parseKey(header)), fits)
  })

  it("of any length is refused at once: its length is looked at first", () => {
    const hostile = ["a", " ".repeat(16_000), "a"].join("")
    for (let times = 0; times < 1000; times++) assert.isTrue(Option.isNone(parseKey(hostile)))
    for (const text of [" ".repeat(402), `"${"\\\\".repeat(200)}`, `a${" ".repeat(400)}a`]) {
      for (let times = 0; times < 1000; times++) assert.isTrue(Option.isNone(parseKey(text)))
    }
  })
})
