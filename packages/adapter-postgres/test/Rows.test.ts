import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { Codecs as CoreCodecs } from "@messaging-crm/core/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import { Cause, Effect, Exit, Schema } from "effect"
import "@messaging-crm/adapter-postgres"
import { schemas, selected, selection } from "../src/database/Rows.ts"

const nameOf = (schema: Schema.Constraint): string =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)).join(" ") : ""

describe("rows that a derived codec decodes equal those that their schema decodes", () => {
  for (const schema of schemas) Codecs.decoding(fast, nameOf(schema), schema)
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
  assert.deepStrictEqual(Array.from(schemas).filter((schema) => !isDerived(schema)).map(nameOf), [])
})
