import { assert, it } from "@effect/vitest"
import { canonical } from "@messaging-crm/core/Phones"
import { Option } from "effect"

it("a number has one canonical form, whichever digits are dialed only within its country", () => {
  const cases = {
    "+44 (0)20 7946 0958": "+442079460958",
    "+49 0151 12345678": "+4915112345678",
    "+54 11 15 1234 5678": "+5491112345678",
    "+52 1 55 1234 5678": "+525512345678",
    "005215512345678": "+525512345678",
    "5215512345678": "+525512345678",
    "+52 55 1234 5678": "+525512345678"
  }
  for (const [written, form] of Object.entries(cases)) assert.deepStrictEqual(canonical(written), Option.some(form))
})

it("a canonical number stays as it is", () => {
  for (const number of ["+525512345678", "+442079460958", "+5491112345678"]) {
    assert.deepStrictEqual(canonical(number), Option.some(number))
  }
})

it("a number without a country code, or with too few or too many digits, has no canonical form", () => {
  for (const written of ["0151 12345678", "+1", "+52155123456", "+52155123456789", ""]) {
    assert.deepStrictEqual(canonical(written), Option.none(), written)
  }
})
