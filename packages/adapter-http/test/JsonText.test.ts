/** Tests of the defects of a JSON text that `JSON.parse` accepts. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { flawOf } from "../src/middleware/JsonBody.ts"

/** Names that a parser that reads character by character could misread. */
const names = ["a", "\"", "\\", "\\\"", "{", "}", "[", "]", ",", ":", "\u0000", "é", "\u{1F600}", "\uD800", "__proto__"]
const name = Arbitrary.schema(Schema.Literals(names))

/** An object of one member for each name, in which the last value nests as deep as it is told to. */
const nested = (path: ReadonlyArray<string>): string => {
  const [first, ...rest] = path
  return first === undefined ? "[\"x\", 1, {}]" : `{ "k" : "}{\\"", ${JSON.stringify(first)} : ${nested(rest)} }`
}

describe("flawOf", () => {
  it.prop("finds nothing in a text without flaw", { path: Arbitrary.array(name, { maxLength: 30 }) }, ({ path }) => {
    assert.doesNotThrow(() => void JSON.parse(nested(path)))
    assert.isNull(flawOf(nested(path)))
  })

  it.prop("finds a name that is given twice, and where", {
    path: Arbitrary.array(name, { maxLength: 20 }),
    twice: name
  }, ({ path, twice }) => {
    const escaped = `"${Array.from({ length: twice.length }, (_, at) => escape(twice, at)).join("")}"`
    const inner = `{${JSON.stringify(twice)}:[1,{}],"other":null,${escaped}:2}`
    const text = path.reduceRight((json, each) => `{${JSON.stringify(each)}:[0,${json}]}`, inner)
    assert.strictEqual(flawOf(text)?.param, [...path.flatMap((each) => [each, "1"]), twice].join("."))
  })

  it("counts 32 levels and no more", () => {
    assert.isNull(flawOf(`${"[".repeat(32)}${"]".repeat(32)}`))
    assert.strictEqual(flawOf(`${"[".repeat(33)}${"]".repeat(33)}`)?.param, Array(32).fill("0").join("."))
  })
})

/** A code unit as JSON may spell it in every place. */
const escape = (text: string, at: number): string => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`
