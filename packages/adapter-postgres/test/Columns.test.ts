import { assert, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Schema } from "effect"
import { repeated } from "../src/database/RowCodecs.ts"

const decode = Schema.decodeSync(repeated(Schema.Array(Schema.String)))

it.prop("a repeated column is the value of its text, however often and in whatever order texts come", {
  texts: Arbitrary.array(hardText({ min: 0, max: 20 }), { maxLength: 4 })
}, ({ texts }) => {
  const values = Array.from({ length: 300 }, (_, index) => [...texts, String(index)])
  for (const value of [...values, ...values.toReversed()]) {
    assert.deepStrictEqual(decode(JSON.stringify(value)), value)
  }
})
