import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { isRead } from "@messaging-crm/core/Rows"
import { tables } from "@messaging-crm/core/Tables"
import { Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected, selection } from "../src/database/RowCodecs.ts"
import { schemaOf } from "../src/work/Rows.ts"

/** The schemas of the tables that `Rows` reads. */
const declared = Object.values(tables).flatMap((table) => isRead(table) ? [schemaOf(table)] : [])

/** The schema of every row. A layer that another test built has added those of some tables already. */
const all = new Set([...schemas, ...declared])

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

describe("rows that a codec decodes equal those that their schema decodes", () => {
  for (const schema of all) Codecs.decoding(nameOf(schema), schema)
})

describe("so do rows that are read by position", () => {
  for (const schema of selected) Codecs.decodingValues(nameOf(schema), schema)
})

it("a row that is read by position and cannot be decoded names its column", () => {
  const schema = Schema.Struct({ id: Schema.String, tags: Schema.Array(Schema.DateTimeUtcFromString) })
  const { decode } = selection(schema, (field) => field)
  assert.throws(() => decode(["1", null]), /\["tags"\]/)
  selected.delete(schema)
  schemas.delete(schema)
})
