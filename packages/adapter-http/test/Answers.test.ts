import { assert, describe, it } from "@effect/vitest"
import * as TrustedCodecs from "@messaging-crm/conformance/TrustedCodecs"
import { Option, type Schema } from "effect"
import { codecs } from "../src/middleware/Answers.ts"

describe("answers that are trusted are what answers that are checked are", () => {
  for (const [{ method, path, success }] of codecs) {
    for (const schema of success) TrustedCodecs.encoding(`${method} ${path}`, schema as Schema.Codec<unknown, unknown>)
  }
})

it("every answer is understood", () => {
  for (const [{ method, path }, { trust }] of codecs) assert.isTrue(Option.isSome(trust), `${method} ${path}`)
})
