/** The source of the generated functions, whose speed depends on its form. */
import { afterEach, assert, it, vi } from "@effect/vitest"
import { identity, objectConverter, sourceOf } from "../../src/kernel/Codecs.ts"

const id = { name: "id", isOptional: false, convert: identity }
const at = { name: "sent at", isOptional: false, convert: String }
const note = { name: "note", isOptional: true, convert: identity }

it("required fields are one literal, in which an unchanged value is not converted", () => {
  assert.strictEqual(
    sourceOf([id, at], "name"),
    `const made = { "id": given["id"], "sent at": fields[1].convert(given["sent at"]) }\nreturn made`
  )
})

it("values are read by their position", () => {
  assert.strictEqual(
    sourceOf([id, at], "position"),
    `const made = { "id": given[0], "sent at": fields[1].convert(given[1]) }\nreturn made`
  )
})

it("from the first optional field on, fields are assigned in their order", () => {
  assert.strictEqual(
    sourceOf([id, note, at], "name"),
    `const made = { "id": given["id"] }
if ("note" in given) made["note"] = given["note"]
made["sent at"] = fields[2].convert(given["sent at"])
return made`
  )
})

afterEach(() => void vi.unstubAllGlobals())

it("are loops where code generation is forbidden, which build the same objects", () => {
  const cases = [
    { fields: [id, note, at], keys: "name", given: { id: 1, note: "n", "sent at": 2 } },
    { fields: [id, note, at], keys: "name", given: { id: 1, "sent at": 2 } },
    { fields: [id, at], keys: "position", given: [1, 2] }
  ] as const
  const build = () => cases.map(({ fields, given, keys }) => JSON.stringify(objectConverter(fields, keys)(given)))
  const generated = build()
  vi.stubGlobal("Function", function() {
    throw new EvalError("Code generation from strings disallowed for this context")
  })
  assert.deepStrictEqual(build(), generated)
})
