import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import type { OwnSchema, OwnStruct } from "@messaging-crm/core/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import type { Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { vi } from "vitest"
import type * as Rows from "../src/database/Rows.ts"

/** The schemas of all rows that the adapter reads, and of those that it reads by position. */
const { schemas, selected } = vi.hoisted(() => ({ schemas: new Set<OwnSchema>(), selected: new Set<OwnStruct>() }))

// Modules of rows call these functions when they are imported.
vi.mock(import("../src/database/Rows.ts"), async (original) => {
  const real = await original()
  const rows: typeof Rows.rows = (schema) => {
    schemas.add(schema)
    return real.rows(schema)
  }
  const first: typeof Rows.first = (schema) => {
    schemas.add(schema)
    return real.first(schema)
  }
  const selection: typeof Rows.selection = (schema, expressionOf) => {
    schemas.add(schema)
    selected.add(schema)
    return real.selection(schema, expressionOf)
  }
  return { ...real, rows, first, selection }
})

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

describe("rows that a derived codec decodes equal those that their schema decodes", () => {
  assert.isNotEmpty(schemas)
  for (const schema of schemas) Codecs.decoding(fast, nameOf(schema), schema)
})

describe("so do rows that are read by position", () => {
  assert.isNotEmpty(selected)
  for (const schema of selected) Codecs.decodingValues(fast, nameOf(schema), schema)
})

it("every row has a derived codec, which reads values that a newer version has added", () => {
  assert.deepStrictEqual(Array.from(schemas).filter((schema) => !isDerived(schema)).map(nameOf), [])
})
