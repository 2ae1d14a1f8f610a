import { assert, describe, it } from "@effect/vitest"
import * as TrustedCodecs from "@messaging-crm/conformance/TrustedCodecs"
import type { Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected } from "../src/database/Rows.ts"

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

const [checked, trusted] = [
  Array.from(schemas).filter(({ ast }) => TrustedCodecs.isChecked(ast)),
  Array.from(schemas).filter(({ ast }) => !TrustedCodecs.isChecked(ast))
]

describe("trusted rows are equal to checked rows", () => {
  for (const schema of trusted) TrustedCodecs.decoding(nameOf(schema), schema)
})

describe("rows that are read by position are equal to checked rows", () => {
  for (const schema of selected) TrustedCodecs.decodingValues(nameOf(schema), schema)
})

it("rows with a union are checked: early updates, and the content of a send", () => {
  const fields = Array.from(new Set(checked.map(nameOf)))
  const unions = ["early_updates", "content"]
  assert.deepStrictEqual(unions.map((name) => fields.filter((row) => row?.includes(name)).length), [1, 2])
  assert.lengthOf(fields, 3)
})
