import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { fast, isDerived } from "@messaging-crm/fast/Codecs"
import { Schema } from "effect"
import { codecs } from "../src/middleware/Responses.ts"

describe("answers that a derived codec encodes equal those that their schema encodes", () => {
  for (const [{ method, path }, { schema }] of codecs) Codecs.encoding(fast, `${method} ${path}`, schema)
})

it("every answer has a derived codec", () => {
  for (const [{ method, path }, { schema }] of codecs) {
    assert.isTrue(isDerived(Schema.flip(schema)), `${method} ${path}`)
  }
})
