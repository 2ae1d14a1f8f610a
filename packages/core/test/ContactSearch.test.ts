import { assert, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { emptyContact, searchTerms, searchText } from "@messaging-crm/core/Contacts"
import { Country } from "@messaging-crm/core/Countries"
import { ContactId } from "@messaging-crm/core/Ids"
import { foldCase } from "@messaging-crm/core/Text"
import { DateTime } from "effect"

const contact = {
  ...emptyContact,
  id: ContactId.make("00000000-0000-7000-8000-000000000001"),
  updated_at: DateTime.makeUnsafe(0)
}

const isFound = (text: string, query: string): boolean =>
  searchTerms(query)?.some((term) => text.includes(term)) ?? true

it.prop("a query finds every text that it is contained in, in any case", {
  before: hardText({ min: 0, max: 20 }),
  query: hardText({ min: 1, max: 20 }),
  after: hardText({ min: 0, max: 20 })
}, ({ after, before, query }) => {
  for (const whole of [query, query.toUpperCase(), query.toLowerCase(), foldCase(query)]) {
    const text = searchText({ ...contact, first_name: `${before}${whole}${after}` })
    for (const part of [query, query.toUpperCase(), query.toLowerCase(), foldCase(query)]) {
      assert.isTrue(isFound(text, part), `${part} in ${whole}`)
    }
  }
})

it("a query finds a word that continues after its final sigma", () => {
  const text = searchText({ ...contact, first_name: "ΝΙΚΟΣΤΡΑΤΟΣ" })
  for (const query of ["ΝΙΚΟΣ", "Νικος", "νικοσ", "ΤΟΣ", "τος"]) assert.isTrue(isFound(text, query), query)
})

/** Every character, in texts of 1,024. */
const characters = Array.from(
  { length: 0x440 },
  (_, block) =>
    Array.from({ length: 0x400 }, (_, index) => 0x400 * block + index)
      .filter((point) => point < 0xD800 || point > 0xDFFF)
      .map((point) => String.fromCodePoint(point))
      .join("")
)

it("no query finds a text across two fields, whatever character it has between them", () => {
  const fields = ["ada", "+4915112345678", "ada@example.com", "acme"] as const
  const [first_name, primary_phone, primary_email, company] = fields
  const text = searchText({ ...contact, first_name, primary_phone, primary_email, company })
  for (const separator of ["", ...characters.join("").match(/[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]|\r\n/gu) ?? []]) {
    for (const [index, field] of fields.slice(1).entries()) {
      assert.isFalse(isFound(text, `${fields[index]}${separator}${field}`), JSON.stringify(separator))
    }
  }
  // Of all others it is enough that no key has what separates the fields.
  const [separator = "", ...others] = new Set(Array.from(text).filter((one) => !fields.join("").includes(one)))
  assert.deepStrictEqual([separator.length, others], [1, []])
  for (const all of characters) assert.isFalse(foldCase(all).includes(separator))
})

it("a query finds a line break inside a field", () => {
  const text = searchText({ ...contact, first_name: "Ada\nLovelace", company: "Acme" })
  assert.isTrue(isFound(text, "a\nl"))
})

it("a query for a phone number finds it as it was written", () => {
  const text = searchText({ ...contact, primary_phone: "+442079460958" })
  for (
    const query of ["+44 (0)20 7946 0958", "0044 020 7946 0958", "+44 20 7946-0958", "+44 20 79", "7946 0958", "+4420"]
  ) {
    assert.isTrue(isFound(text, query), query)
  }
})

it("a query finds a phone, email, or name whatever cannot be seen in it", () => {
  const [primary_phone, primary_email, first_name] = ["+4915112345678", "kim@acme.example", "می\u200Cخواهم 👩\u200D💻"]
  const text = searchText({ ...contact, first_name, primary_phone, primary_email, company: "Müller–Lüdenscheid" })
  for (
    const query of [
      "\u202A+49 151 12345678\u202C",
      "+49\u00A0151\u201112345678",
      "＋４９１５１１２３４５６７８",
      "٠٠٤٩١٥١١٢٣٤٥٦٧٨",
      "tel:+49-151-12345678",
      "١٥١١٢٣",
      "\uFEFFkim@acme.example\u200B",
      "kim@\u00ADacme",
      "می\u200Cخواهم",
      "میخواهم",
      "👩\u200D💻",
      "müller-lü"
    ]
  ) {
    assert.isTrue(isFound(text, query), JSON.stringify(query))
  }
  for (const blank of ["\u200B", " \u202A\u202C ", "\u00A0"]) assert.isNull(searchTerms(blank))
})

it("with a default country, a query for a number as it is dialed within the country finds it", () => {
  const text = searchText({ ...contact, primary_phone: "+4915112345678" })
  const country = Country.make("DE")
  for (const query of ["0151 12345678", "(0151) 123-456-78", "151 12345678", "4915112345678", "15112345678"]) {
    assert.isTrue(searchTerms(query, country)?.some((term) => text.includes(term)), query)
  }
  assert.isFalse(isFound(text, "0151 12345678"))
})
