import { describe } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { codecs } from "../src/middleware/Responses.ts"

describe("responses of a codec equal those of their schema", () => {
  for (const [{ method, path }, { schema }] of codecs) Codecs.encoding(`${method} ${path}`, schema)
})
