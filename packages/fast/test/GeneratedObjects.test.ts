/** The source of the generated functions, whose speed depends on its form. */
import { assert, it } from "@effect/vitest"
import { identity } from "../src/Converter.ts"
import { byName, byPosition, sourceOf } from "../src/GeneratedObjects.ts"

const id = { name: "id", isOptional: false, convert: identity }
const at = { name: "sent at", isOptional: false, convert: String }
const note = { name: "note", isOptional: true, convert: identity }

it("required fields are one literal, in which an unchanged value is not converted", () => {
  assert.strictEqual(
    sourceOf([id, at], byName),
    `const made = { "id": given["id"], "sent at": fields[1].convert(given["sent at"]) }\nreturn made`
  )
})

it("values are read by their position", () => {
  assert.strictEqual(
    sourceOf([id, at], byPosition),
    `const made = { "id": given[0], "sent at": fields[1].convert(given[1]) }\nreturn made`
  )
})

it("from the first optional field on, fields are assigned in their order", () => {
  assert.strictEqual(
    sourceOf([id, note, at], byName),
    `const made = { "id": given["id"] }
if ("note" in given) made["note"] = given["note"]
made["sent at"] = fields[2].convert(given["sent at"])
return made`
  )
})
