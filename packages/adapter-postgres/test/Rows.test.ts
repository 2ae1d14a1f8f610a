import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import type { Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected } from "../src/database/Rows.ts"

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

const [derived, checked] = [
  Array.from(schemas).filter(isDerived),
  Array.from(schemas).filter((schema) => !isDerived(schema))
]

describe("rows that a derived codec decodes equal those that their schema decodes", () => {
  for (const schema of derived) Codecs.decoding(fast, nameOf(schema), schema)
})

describe("so do rows that are read by position", () => {
  for (const schema of selected) Codecs.decodingValues(fast, nameOf(schema), schema)
})

it("rows with a union are decoded by their schema: early updates, and the content of a send", () => {
  const fields = Array.from(new Set(checked.map(nameOf)))
  const unions = ["early_updates", "content"]
  assert.deepStrictEqual(unions.map((name) => fields.filter((row) => row?.includes(name)).length), [1, 2])
  assert.lengthOf(fields, 3)
})
