/** Phones: a number is read as people write it or rejected, and no other number is ever read (contract §8.3). */
import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { countries, Country, DefaultCountry } from "@messaging-crm/core/Countries"
import { canonical, Phone, sharedSpelling, spellings } from "@messaging-crm/core/Phones"
import { Arbitrary, Effect, Option, Schema } from "effect"
import examples from "libphonenumber-js/examples.mobile.json"
import { getCountries, parsePhoneNumberFromString } from "libphonenumber-js/max"

const read = (written: string, country: string | null = null): string | null =>
  Option.getOrNull(canonical(written, country === null ? null : Country.make(country)))

const reads = (cases: Readonly<Record<string, string>>, country: string | null = null) => {
  for (const [written, number] of Object.entries(cases)) {
    it(`reads ${JSON.stringify(written)}`, () => assert.strictEqual(read(written, country), number))
  }
}

const rejects = (cases: ReadonlyArray<string>, country: string | null = null) => {
  for (const written of cases) {
    it(`rejects ${JSON.stringify(written)}`, () => assert.isNull(read(written, country)))
  }
}

it("every country of the library can be a default country", () => {
  assert.deepStrictEqual(countries, getCountries())
})

/** A mobile number of each country. */
const numbers = getCountries().flatMap((country) => {
  const number = parsePhoneNumberFromString(examples[country] ?? "", country)
  return number === undefined ? [] : [{ country, number }]
})

describe("a number with its country code", () => {
  reads({
    "+4915112345678": "+4915112345678",
    "0049 151 12345678": "+4915112345678",
    "00 49 151 12345678": "+4915112345678",
    "+ 49 151 12345678": "+4915112345678",
    "0049 (151) 123-45678": "+4915112345678",
    "+49 (151) 123-45.678": "+4915112345678",
    "0049 (151) 123-456.78": "+4915112345678",
    "(+49) 151 12345678": "+4915112345678",
    "+(49) 151 12345678": "+4915112345678",
    "+49 - 151 - 12345678": "+4915112345678",
    "+1.415.555.2671": "+14155552671",
    "+1.4155552671": "+14155552671",
    "+33.6.12.34.56.78": "+33612345678",
    "+49 30/1234567": "+49301234567",
    "+4930/1234567": "+49301234567",
    "+49/30/1234567": "+49301234567",
    "+49 (0)30/1234567": "+49301234567",
    "+49 30 1234-0": "+493012340",
    // Not the number of a second line: it is ten further.
    "+49 30 123456-66": "+493012345666",
    "tel:+49-151-12345678": "+4915112345678"
  })
})

describe("digits that are dialed only within the country are removed", () => {
  reads({
    "+44 (0)20 7946 0958": "+442079460958",
    "+49 0151 12345678": "+4915112345678",
    "+39 (0)6 698 12345": "+390669812345",
    "+54 11 15 1234 5678": "+5491112345678",
    "+7 8 495 123 45 67": "+74951234567",
    "+52 1 55 1234 5678": "+525512345678",
    "005215512345678": "+525512345678",
    "5215512345678": "+525512345678",
    "+52 55 1234 5678": "+525512345678"
  })
  // In Hungary, this digit is 06, so that the zero would stay.
  rejects(["+36 (0)1 234 5678"])
})

describe("digits without + or 00 are read if they are certain to begin with the country code", () => {
  reads({
    "4915112345678": "+4915112345678",
    "14155552671": "+14155552671",
    "1 (415) 555-2671": "+14155552671",
    "44 20 7946 0958": "+442079460958"
  })
  rejects([
    "4915",
    "1234567890123456",
    // No country has this code.
    "999123456789",
    // Mobile numbers of Brazil and China, and one that Russians dial, which look like those of Peru, the USA, and Vietnam.
    "51987654321",
    "13012345678",
    "84951234567"
  ])
})

describe("a number as it is dialed within a country is rejected without a default country", () => {
  rejects([
    "(646) 555-1234",
    "646-555-1234",
    "646.555.1234",
    "6465551234",
    "612345678",
    "9512345678",
    "015112345678",
    "(0151) 12345678",
    "030/1234567"
  ])

  it("in every country, or read as the same number", () => {
    for (const { country, number } of numbers) {
      const national = number.formatNational()
      for (const written of [national, national.replace(/[^0-9]/g, ""), number.nationalNumber]) {
        assert.include([null, number.number], read(written), `${country} ${written}`)
      }
    }
  })
})

describe("a text that is not one number is rejected", () => {
  rejects([
    "",
    "+",
    "+1",
    "+49",
    "00",
    "++4915112345678",
    "+0 123456",
    "0004915112345678",
    "+49+15112345678",
    "+49151abc5678",
    "+1234567890123456",
    "+52155123456",
    "+52155123456789",
    // Spreadsheets.
    "4915112345678.0",
    "+4915112345678.00",
    "+49 151 12345678.0",
    "+49 30 1234.56",
    "14155552671.0",
    "4.91512E+12",
    "4,915,112,345,678",
    "+49 151 1234567,0",
    // Extensions and other endings.
    "1234567/68",
    "+49 30 1234567/68",
    "+49 30 1234567/8/9",
    "+4930 1234567/68",
    "+49 30 1234/5678",
    "+49 301234/56",
    "+49 3012345/678",
    "+49 30 123456-65",
    "+49 30 1234567 ext. 12",
    "+1 415 555 2671 x12",
    "+1 415 555 2671,12",
    "+1 415 555 2671;ext=12",
    "+1 415 555 2671#12",
    // Several numbers.
    "+49 151 12345678, +49 30 1234567",
    "+49 151 12345678 +49 30 1234567",
    "+49 151 12345678 / 030 1234567",
    "+49 151 12345678\n030 1234567",
    "+49 30 123456\t42",
    // Separators that stand nowhere between digits.
    "+49 151) 12345678",
    "+49 (151 12345678",
    "+49--151-12345678",
    "+49 151 12345678-",
    // The library would add an area code.
    "+378 886377"
  ])
})

describe("with a default country, numbers as they are dialed within it are read too", () => {
  reads({
    "0151 12345678": "+4915112345678",
    "(0151) 12345678": "+4915112345678",
    "030/1234567": "+49301234567",
    // A spreadsheet has dropped the zero.
    "15112345678": "+4915112345678",
    "4915112345678": "+4915112345678",
    "49 151 12345678": "+4915112345678",
    "+44 20 7946 0958": "+442079460958",
    "14155552671": "+14155552671"
  }, "DE")
  // Each can be a number of Germany without its zero, or one of another country.
  rejects(["0160131234567"], "DE") // A voicemail of a mobile number, whose digits are two more.
  rejects(["16012345678", "51987654321", "030 1234567/68", "030 1234/5678", "(646) 555-1234"], "DE")
  reads({ "(646) 555-1234": "+16465551234", "6465551234": "+16465551234", "1 646 555 1234": "+16465551234" }, "US")
  reads({ "011 49 151 12345678": "+4915112345678", "13012345678": "+13012345678" }, "US")
  reads({ "51987654321": "+5551987654321" }, "BR")
  reads({ "13012345678": "+8613012345678" }, "CN")
  reads({ "8 495 123-45-67": "+74951234567" }, "RU")
  reads({ "9512345678": "+919512345678", "919876543210": "+919876543210" }, "IN")
  reads({ "011 15 2345-6789": "+5491123456789" }, "AR")
  rejects(["464 1234"], "AG")

  it("in every country, and those with + or 00", () => {
    for (const { country, number } of numbers) {
      const own = [number.number, number.formatInternational(), number.format("RFC3966"), `00${number.number.slice(1)}`]
      for (const written of [...own, number.formatNational()]) {
        assert.strictEqual(read(written, country), number.number, `${country} ${written}`)
      }
      for (const written of own) assert.strictEqual(read(written), number.number, `${country} ${written}`)
    }
  })

  it("decodes with the country that is provided", () => {
    const decode = Schema.decodeEffect(Phone)
    const inGermany = Effect.provideService(decode("0151 12345678"), DefaultCountry, Country.make("DE"))
    assert.strictEqual(Effect.runSync(inGermany), "+4915112345678")
    assert.match(String(Effect.runSync(Effect.flip(decode("0151 12345678")))), /starts with \+ and the country code/)
  })
})

/** Decimal digits of four scripts, from 0 to 9. */
const scripts = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９", "०१२३४५६७८९"].map((digits) => Array.from(digits))

const in_text = new Map(scripts.flatMap((digits) => digits.map((digit, value) => [digit, String(value)] as const)))

/** Returns the digits of a text, in order. */
const digitsIn = (text: string): string => Array.from(text, (character) => in_text.get(character) ?? "").join("")

/** Fails unless a number has the digits of a text in order and completely, except for the repairs of contract §8.3. */
const assertWritten = (text: string, number: string) => {
  const all = digitsIn(text)
  const digits = all.startsWith("00") ? all.slice(2) : all
  const { countryCallingCode: code, nationalNumber } = parsePhoneNumberFromString(number) ?? assert.fail(number)
  const message = `${JSON.stringify(text)} is read as ${number}`
  assert.isTrue(digits.startsWith(code), message)
  if (code === "54") return assert.isTrue(digits.replace("15", "").endsWith(nationalNumber.slice(-6)), message)
  assert.isTrue(digits.endsWith(nationalNumber), message)
  // The longest code of a carrier has five digits.
  assert.isAtMost(digits.length - code.length - nationalNumber.length, 5, message)
}

const pieces = Arbitrary.schema(
  Schema.Literals([
    "0",
    "1",
    "2",
    "4",
    "5",
    "9",
    "15",
    "521",
    "٤",
    "９",
    "+",
    "00",
    " ",
    "-",
    ".",
    "/",
    "(",
    ")",
    "(0)",
    ",",
    ";",
    "x",
    "E",
    "\u200B",
    "\u202A",
    "\u00A0",
    "\n"
  ])
)

const drawn = {
  hard: hardText({ min: 0, max: 8 }),
  pieces: Arbitrary.array(pieces, { maxLength: 20 }),
  number: Arbitrary.schema(Schema.Literals(numbers.map(({ number }) => number.formatInternational()))),
  at: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })))
}

it.prop("from any text, no other number is read than its digits", drawn, ({ at, hard, number, pieces }) => {
  const [piece = ""] = pieces
  const mutated = [
    pieces.join(""),
    `+49${pieces.join("")}`,
    `${number.slice(0, at)}${piece}${number.slice(at)}`,
    `${number.slice(0, at)}${hard}${number.slice(at)}`,
    `${number}${pieces.join("")}`,
    number.replaceAll(" ", piece)
  ]
  for (const written of mutated) Option.map(canonical(written), (read) => assertWritten(written, read))
}, { arbitrary: { runs: 1000 } })

it.prop("a number is read however its groups are separated, and stays as it is", {
  number: Arbitrary.schema(Schema.Literals(numbers.map(({ number }) => number.formatInternational()))),
  separator: Arbitrary.schema(
    Schema.Literals(["", " ", "-", " - ", "\u00A0", "\u2011", "\u2013", "\u202F", "\u3000", "."])
  ),
  mark: Arbitrary.schema(
    Schema.Literals(["", "\u202A", "\u2068", "\u200E", "\u200B", "\uFEFF", "\uFE0D", "\u00AD", "\u2060"])
  ),
  script: Arbitrary.schema(Schema.Literals([0, 1, 2, 3]))
}, ({ mark, number, script, separator }) => {
  const bare = `+${digitsIn(number)}`
  const known = read(bare)
  const written = number.replaceAll(" ", separator).replace(/[0-9]/g, (digit) => scripts[script]?.[Number(digit)] ?? "")
  // A single dot between few digits at the end is a fraction.
  if (separator !== ".") {
    assert.strictEqual(read(`${mark}${written.slice(0, 4)}${mark}${written.slice(4)}${mark}`), known)
  }
  for (const suffix of [".0", "/68", " ext. 12", "x12", ", +4915112345678", "\n+4915112345678", "E+12"]) {
    assert.isNull(read(`${bare}${suffix}`), suffix)
  }
  assert.strictEqual(read(known ?? ""), known)
}, { arbitrary: { runs: 500 } })

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
    "+5499123456789",
    "+549123456789",
    "+5511958887777",
    "+551158887777",
    "+55119888877777",
    "BR.13491208655302741918",
    "kim@acme.example",
    ""
  ]
  for (const other of one) assert.deepStrictEqual([spellings(other), sharedSpelling(other)], [[other], other])
})

it("a second ending after a complete number, and a date, are not read", () => {
  for (
    const written of [
      "+4915112345678-79",
      "+49 151 12345678 79",
      "+49 151 12345678-9",
      "+49 151 12345678 (2)",
      // The digits together are a possible number, and even a valid one.
      "+39 347 1234567-68",
      "+39 347 1234567-8",
      "+39 347 123 4567-68",
      "0039 347 1234567 - 68",
      "+49 30 1234567-68",
      "+49 89 123456-57",
      "+43 1 5123456-57"
    ]
  ) {
    assert.isNull(read(written), written)
  }
  for (const written of ["347 1234567-68", "3471234567-8", "347 1234567 - 69"]) {
    assert.isNull(read(written, "IT"), written)
  }
  for (const written of ["2026-11-20", "2026.11.20", "2026/11/20", "20.11.2026", "20-11-2026"]) {
    for (const country of [null, "DE", "BR", "FR"]) assert.isNull(read(written, country), written)
  }
})

describe("a direct dial, and each spelling of a number", () => {
  reads({
    "+49 30 123456-0": "+49301234560",
    "+49 30 123456-12": "+493012345612",
    "+49 30 1234567-08": "+4930123456708",
    "+7 495 123-45-46": "+74951234546"
  })
  reads({ "+49 151 1234 5678": "+4915112345678" })
  reads({ "551187654321": "+551187654321", "5511987654321": "+5511987654321" })
  reads({ "(11) 8765-4321": "+551187654321", "(11) 98765-4321": "+5511987654321" }, "BR")
})
