import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { Codecs as CoreCodecs } from "@messaging-crm/core/Codecs"
import { isRead } from "@messaging-crm/core/Rows"
import { tables } from "@messaging-crm/core/Tables"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import { Cause, Effect, Exit, Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected, selection } from "../src/database/Rows.ts"
import { schemaOf } from "../src/work/Rows.ts"

/** The schemas of the tables that `Rows` reads. */
const declared = Object.values(tables).flatMap((table) => isRead(table) ? [schemaOf(table)] : [])

/** The schema of every row. */
const all = [...schemas, ...declared]

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

describe("rows that a derived codec decodes equal those that their schema decodes", () => {
  for (const schema of all) Codecs.decoding(fast, nameOf(schema), schema)
})

describe("so do rows that are read by position", () => {
  for (const schema of selected) Codecs.decodingValues(fast, nameOf(schema), schema)
})

it.effect("a row that cannot be decoded names its column, also if it is read by position", () =>
  Effect.gen(function*() {
    const schema = Schema.Struct({ id: Schema.String, tags: Schema.Array(Schema.DateTimeUtcFromString) })
    const { decode } = yield* selection(schema, (field) => field).reading
    for (const found of [[["1", null]], [["1", []], ["2", null]]]) {
      const exit = yield* Effect.exit(decode(found))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "[\"tags\"]")
    }
    selected.delete(schema)
    schemas.delete(schema)
  }).pipe(Effect.provideService(CoreCodecs, fast)))

it("every row has a derived codec", () => {
  assert.deepStrictEqual(all.filter((schema) => !isDerived(schema)).map(nameOf), [])
})
