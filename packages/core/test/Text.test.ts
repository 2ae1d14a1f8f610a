import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { type SearchTerms, searchTerms } from "@messaging-crm/core/Contacts"
import { byCodePoint, foldCase, line, optionalText, preview, text, trimmedText } from "@messaging-crm/core/Text"
import { Option, Schema } from "effect"

describe("foldCase", () => {
  it.prop("gives a text and its upper case the same key", { value: hardText({ min: 0, max: 40 }) }, ({ value }) => {
    assert.strictEqual(foldCase(value.toUpperCase()), foldCase(value))
    assert.strictEqual(foldCase(foldCase(value)), foldCase(value))
  })

  it("gives every letter and its other cases the same key", () => {
    for (let point = 1; point < 0x2_0000; point++) {
      if (point >= 0xD800 && point <= 0xDFFF) continue
      const letter = String.fromCodePoint(point)
      for (const other of [letter.toUpperCase(), letter.toLowerCase(), letter.normalize("NFD")]) {
        if (other !== letter && foldCase(other) !== foldCase(letter)) assert.fail(`U+${point.toString(16)}`)
      }
    }
  })

  it("folds more than toLowerCase", () => {
    const same = [
      ["Straße", "STRASSE"],
      ["ẞ", "ß"],
      ["ΟΔΟΣ", "οδος"],
      ["ΟΔΟΣ", "οδοσ"],
      ["\u1FBC\u0342", "\u1FB7"],
      ["É", "e\u0301"],
      ["\u0130", "i\u0307"],
      ["ﬁ", "FI"],
      ["K", "\u212A"]
    ] as const
    for (const [a, b] of same) {
      assert.strictEqual(foldCase(a), foldCase(b), `${a} and ${b}`)
    }
    assert.notStrictEqual(foldCase("a"), foldCase("b"))
  })
})

it("byCodePoint orders as PostgreSQL's C collation does", () => {
  const sorted = ["\u{1F600}", "\uFFFD", "b", "a", "ab", ""].toSorted(byCodePoint)
  assert.deepStrictEqual(sorted, ["", "a", "ab", "b", "\uFFFD", "\u{1F600}"])
})

describe("schemas", () => {
  const decode = <A, I>(schema: Schema.Codec<A, I>, value: unknown) =>
    Option.getOrNull(Schema.decodeUnknownOption(schema)(value))

  it("count code points, and reject what cannot be stored", () => {
    const two = text({ min: 1, max: 2 })
    assert.strictEqual(decode(two, "😀😀"), "😀😀")
    for (const value of ["", "abc", "a\u0000", "\uD800", 1, null]) assert.isNull(decode(two, value))
  })

  it("measure the text as it is sent and trim it, or keep it unchanged", () => {
    assert.strictEqual(decode(trimmedText({ min: 1, max: 5 }), "  ab "), "ab")
    assert.isNull(decode(trimmedText({ min: 1, max: 4 }), "  ab "))
    assert.isNull(decode(trimmedText({ min: 3, max: 9 }), "  ab "))
    assert.isNull(decode(trimmedText({ min: 1, max: 2 }), "   "))
    for (const value of [" a ", " \n\t "]) assert.strictEqual(decode(text({ min: 1, max: 9 }), value), value)
    assert.deepStrictEqual(Schema.decodeUnknownOption(line(3))("  "), Option.some(null))
    assert.deepStrictEqual(Schema.decodeUnknownOption(line(5))(" abc "), Option.some("abc"))
    for (const value of ["abcd", " abc ", "    "]) {
      assert.deepStrictEqual(Schema.decodeUnknownOption(line(3))(value), Option.none())
    }
  })

  it("take a text in which nothing can be seen for an empty one", () => {
    for (const blank of ["\u200B", " \u200D\uFEFF ", "\u00AD", "\u2800", "\u0007", "\u202A\u202C\n"]) {
      assert.isNull(decode(trimmedText({ min: 1, max: 9 }), blank), JSON.stringify(blank))
      for (const schema of [line(9), optionalText(9)]) {
        assert.deepStrictEqual(Schema.decodeUnknownOption(schema)(blank), Option.some(null), JSON.stringify(blank))
      }
    }
    for (const kept of ["\u200Ba", "\u{1F469}\u200D\u{1F469}"]) {
      for (const schema of [trimmedText({ min: 1, max: 9 }), line(9), optionalText(9)]) {
        assert.deepStrictEqual(
          Schema.decodeUnknownOption<Schema.Codec<unknown, unknown>>(schema)(kept),
          Option.some(kept)
        )
      }
    }
  })
})

it("a preview has at most 140 characters, and splits none", () => {
  assert.strictEqual(preview("😀".repeat(141)), "😀".repeat(140))
  assert.strictEqual(preview("short"), "short")
})

it("searchTerms are the folded text, and the digits of a number with separators", () => {
  const terms: Record<string, SearchTerms | null> = {
    "Anna B": ["anna b"],
    "+4915112345678": ["4915112345678"],
    "1511": ["1511"],
    "+49 151 1": ["+49 151 1", "491511"],
    "(0151) 1": ["(0151) 1", "01511"],
    "R2-D2": ["r2-d2"],
    "+/-": ["+/-"],
    " ": null
  }
  for (const [query, expected] of Object.entries(terms)) {
    assert.deepStrictEqual(searchTerms(query), expected, query)
  }
})
