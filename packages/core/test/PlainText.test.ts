import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { AddMember } from "@messaging-crm/core/Members"
import { CreateOrganization } from "@messaging-crm/core/Organizations"
import { plain, plainLine, unseenIn } from "@messaging-crm/core/Text"
import { Option, Schema } from "effect"

/** The characters of some ranges. */
const range = (first: number, last = first): ReadonlyArray<string> =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index))

const invisible = [
  ...range(0xAD),
  ...range(0x34F),
  ...range(0x61C),
  ...range(0x180B, 0x180F),
  ...range(0x200B, 0x200F),
  ...range(0x202A, 0x202E),
  ...range(0x2060, 0x2064),
  ...range(0x2066, 0x2069),
  ...range(0x3164),
  ...range(0xFE00, 0xFE0F),
  ...range(0xFEFF),
  ...range(0xFFF9, 0xFFFB),
  ...range(0xE0100, 0xE01EF)
]
const spaces = [
  ...range(0xA0),
  ...range(0x1680),
  ...range(0x2000, 0x200A),
  ...range(0x202F),
  ...range(0x205F),
  ...range(0x3000)
]
const dashes = [...range(0x2010, 0x2015), ...range(0x2212), ...range(0xFE58), ...range(0xFE63), ...range(0xFF0D)]

it("plain text has no invisible character, and spaces, dashes, and digits of ASCII", () => {
  for (const character of invisible) assert.strictEqual(plain(`a${character}b`), "ab", unseenIn(character).join())
  for (const character of spaces) assert.strictEqual(plain(`a${character}b`), "a b", unseenIn(character).join())
  for (const character of dashes) assert.strictEqual(plain(`a${character}b`), "a-b")
  assert.strictEqual(plain("＋４９＠ａ．ｂ（０）"), "+49@a.b(0)")
  assert.strictEqual(plain("٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹ ०१२३४५६७८९ 𝟎𝟏𝟐𝟗𝟘𝟙𝟿"), "0123456789 0123456789 0123456789 0129019")
  assert.strictEqual(plain("Ña\tb\n"), "Ña\tb\n")
  for (const control of ["\u0001", "\u001E", "\u0085"]) assert.strictEqual(plain(`a${control}b`), "a\nb")
})

it.prop("plain text stays as it is", { text: hardText({ min: 0, max: 40 }) }, ({ text }) => {
  assert.strictEqual(plain(plain(text)), plain(text))
  assert.strictEqual(plainLine(plainLine(text)), plainLine(text))
})

it("the characters that cannot be seen are named once each", () => {
  assert.deepStrictEqual(unseenIn("\u202A+49\u00A0151\u202C\u00A0\u{E0101} a-b ñ 👍"), [
    "U+202A",
    "U+00A0",
    "U+202C",
    "U+E0101"
  ])
  assert.deepStrictEqual(unseenIn("Kim Berg-Lee"), [])
})

describe("a value by which people are found is stored without what cannot be seen", () => {
  const decode = <A, I>(schema: Schema.Codec<A, I>, input: unknown): A | null =>
    Option.getOrNull(Schema.decodeUnknownOption(schema)(input))
  const email = (written: string) => decode(CreateContact, { primary_email: written })?.primary_email

  for (const mark of [...invisible.slice(0, 30), ...spaces]) {
    it(`${unseenIn(mark).join()}`, () => {
      const around = (value: string) => `${mark}${value}${mark}`
      const contact = { primary_phone: around("+4915112345678"), primary_email: around("kim@acme.example") }
      assert.deepStrictEqual<unknown>(decode(CreateContact, contact), {
        primary_phone: "+4915112345678",
        primary_email: "kim@acme.example"
      })
      const people = { match: "external_id", channel_type: "photo_social", contacts: [{ external_id: around("1784") }] }
      assert.deepStrictEqual<unknown>(decode(UpsertContacts, people)?.contacts, [{ external_id: "1784" }])
      const member = { name: "Ada", email: around("ada@acme.example"), role: "owner" }
      assert.strictEqual(decode(AddMember, member)?.email, "ada@acme.example")
      const organization = { name: "Acme", owner_name: "Ada", owner_email: around("ada@acme.example") }
      assert.strictEqual(decode(CreateOrganization, organization)?.owner_email, "ada@acme.example")
      assert.deepStrictEqual<unknown>(
        decode(CreateContact, { primary_phone: mark, primary_email: mark }),
        { primary_phone: null, primary_email: null }
      )
    })
  }

  it("but a name keeps them", () => {
    const first_name = "می\u200Cخواهم 👩\u200D💻\uFE0F"
    assert.strictEqual(decode(CreateContact, { first_name })?.first_name, first_name)
  })

  it("an email is read from a link, without the rest of it", () => {
    for (const rest of ["?subject=Hello%20Kim", "?cc=lee@acme.example&body=a?b", "?"]) {
      assert.strictEqual(email(`mailto:kim@acme.example${rest}`), "kim@acme.example", rest)
    }
    for (const written of ["mailto:?to=kim@acme.example", "mailto:kim@acme.example,lee@acme.example?subject=x"]) {
      assert.notInclude(String(email(written)), "@", written)
    }
  })

  it("a character that no domain has is part of a name at most", () => {
    for (const character of "!?'#$%&*+/=^`{|}~") {
      for (const domain of [`${character}acme.example`, `ac${character}me.example`, `acme.example${character}`]) {
        assert.isUndefined(email(`kim@${domain}`), domain)
      }
      assert.strictEqual(email(`k${character}im@acme.example`), `k${character}im@acme.example`)
    }
  })

  it("an email is one address", () => {
    assert.strictEqual(email("kim@\u200Bacme.example"), "kim@acme.example")
    assert.strictEqual(email("mailto:kim@acme.example"), "kim@acme.example")
    assert.strictEqual(email("MAILTO: kim@acme.example"), "kim@acme.example")
    assert.strictEqual(email("ｋｉｍ＠ａｃｍｅ．ｅｘａｍｐｌｅ"), "kim@acme.example")
    assert.strictEqual(email("o'neil+crm=1@bücher.example"), "o'neil+crm=1@bücher.example")
    const rejected = [
      "kim@acme.example;",
      "kim@acme.example,",
      "Kim <kim@acme.example>",
      "<kim@acme.example>",
      "kim@acme.example, lee@acme.example",
      "kim@acme.example,lee@acme.example",
      "kim@acme.example;lee@acme.example",
      "kim@acme.example lee@acme.example",
      "kim@acme.example\nlee@acme.example",
      "kim@acme.example\u0085lee@acme.example",
      "\"kim\"@acme.example",
      "kim@acme.example (private)",
      "kim@acme.example?subject=x@y.example",
      "smtp:kim@acme.example",
      "kim@acme.",
      "kim@acme"
    ]
    for (const written of rejected) assert.isUndefined(email(written), written)
  })
})
