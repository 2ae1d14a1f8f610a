/** Tests of times in JSON. */
import { assert, it } from "@effect/vitest"
import { withTextTimes } from "@messaging-crm/core/Timestamps"
import { Arbitrary, DateTime, Record, Schema } from "effect"

const Value = Schema.Union([Schema.DateTimeUtc, Schema.Json])
const record = Arbitrary.schema(Schema.Record(Schema.String, Value))

it.prop("a record with its times as text has the same JSON", { record }, ({ record }) => {
  const texts = withTextTimes(record)
  assert.strictEqual(JSON.stringify(texts), JSON.stringify(record))
  assert.isFalse(Record.some(texts, DateTime.isDateTime))
})
