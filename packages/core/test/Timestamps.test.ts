import { assert, it } from "@effect/vitest"
import { isoOf } from "@messaging-crm/core/Timestamps"
import { Arbitrary, DateTime, Schema } from "effect"

/** Any moment that a `Date` can be, also before 1970 and of years with five digits. */
const millis = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -8.64e15, maximum: 8.64e15 })))

it.prop("writes a moment as `toISOString` does, also twice and the next millisecond", { millis }, ({ millis }) => {
  for (const each of [millis, millis, Math.min(millis + 1, 8.64e15), 0, 253_402_300_799_999, -1]) {
    assert.strictEqual(isoOf(DateTime.makeUnsafe(each)), new Date(each).toISOString())
  }
})
