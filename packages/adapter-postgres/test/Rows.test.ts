import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import type { Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected } from "../src/database/Rows.ts"

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

describe("rows that a derived codec decodes equal those that their schema decodes", () => {
  for (const schema of schemas) Codecs.decoding(fast, nameOf(schema), schema)
})

describe("so do rows that are read by position", () => {
  for (const schema of selected) Codecs.decodingValues(fast, nameOf(schema), schema)
})

it("every row has a derived codec", () => {
  assert.deepStrictEqual(Array.from(schemas).filter((schema) => !isDerived(schema)).map(nameOf), [])
})
