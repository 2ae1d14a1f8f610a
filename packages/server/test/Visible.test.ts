import { assert, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import * as Print from "../src/cli/Print.ts"
import { oneLine, visible } from "../src/cli/Visible.ts"

/** Characters that control a terminal: escape sequences start with some of these, and bidirectional marks reorder the text. */
const dangerous = ["\u001b[2J", "\u009b31m", "\r", "\u0007", "\u007f", "\u202e", "\u2066", "\u200f", "\u2028", "\t"]
const isObeyed = (text: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text)

it.prop("a text of others is shown without a character that a terminal obeys, and JSON reads the same", {
  before: hardText({ min: 0, max: 20 }),
  after: hardText({ min: 0, max: 20 })
}, ({ after, before }) => {
  for (const each of [...dangerous, "\n", ""]) {
    const text = `${before}${each}${after}`
    assert.isFalse(isObeyed(oneLine(text)), JSON.stringify(text))
    assert.isFalse(isObeyed(visible(text).replaceAll("\n", "")), JSON.stringify(text))
    assert.deepStrictEqual(JSON.parse(visible(JSON.stringify({ text }))), { text })
  }
})

it("an ordinary text stays as it is", () => {
  const text = "Zoë 漢字 नि 👩‍👩‍👧 \"quoted\" \\ back"
  assert.strictEqual(visible(text), text)
})

it("a cell of a table takes one line, whatever is in it", () => {
  const table = Print.table([{ name: "Kim\nevil\u001b[2J", id: 1 }])
  assert.strictEqual(table.split("\n").length, 2)
  assert.isFalse(isObeyed(table.replaceAll("\n", "")))
})
