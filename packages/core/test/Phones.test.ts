import { assert, it } from "@effect/vitest"
import { canonical, sharedSpelling, spellings } from "@messaging-crm/core/Phones"
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

it("numbers of Argentina, and mobile numbers of Brazil and Mexico, have a second spelling", () => {
  const two = {
    "+5491123456789": "+541123456789",
    "+5492915551234": "+542915551234",
    "+5511988887777": "+551188887777",
    "+5215512345678": "+525512345678"
  }
  for (const [long, short] of Object.entries(two)) {
    assert.deepStrictEqual([spellings(long), spellings(short)], [[long, short], [short, long]])
    assert.strictEqual(sharedSpelling(long), sharedSpelling(short))
  }
  const one = [
    "+551133334444",
    "+4915112345678",
    "+5210",
    "+55119888877777",
    "BR.13491208655302741918",
    "kim@acme.example",
    ""
  ]
  for (const other of one) assert.deepStrictEqual([spellings(other), sharedSpelling(other)], [[other], other])
})
