import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import { Schema } from "effect"
import { codecs } from "../src/middleware/Responses.ts"

describe("responses of a derived codec equal those of their schema", () => {
  for (const [{ method, path }, { schema }] of codecs) Codecs.encoding(fast, `${method} ${path}`, schema)
})

it("every response has a derived codec", () => {
  for (const [{ method, path }, { schema }] of codecs) {
    assert.isTrue(isDerived(Schema.flip(schema)), `${method} ${path}`)
  }
})
