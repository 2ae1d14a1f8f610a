import { assert, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import type { Event } from "@messaging-crm/core/Events"
import { ConfigProvider, Console, DateTime, Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import * as Print from "../src/cli/Print.ts"
import { oneLine, visible } from "../src/cli/Visible.ts"
import { wordsOf } from "../src/cli/WebhookListener.ts"
import * as Logging from "../src/observability/Logging.ts"

/** Characters that control a terminal: escape sequences start with some of these, and bidirectional marks reorder the text. */
const dangerous = ["\u001b[2J", "\u009b31m", "\r", "\u0007", "\u007f", "\u202e", "\u2066", "\u200f", "\u2028", "\t"]
const isObeyed = (text: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text)

it.prop("external text is shown without control characters", {
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

it("a cell of a table takes one line", () => {
  const table = Print.table([{ name: "Kim\nevil\u001b[2J", id: 1 }])
  assert.strictEqual(table.split("\n").length, 2)
  assert.isFalse(isObeyed(table.replaceAll("\n", "")))
})

it("the line of a received event has no control characters of its values", () => {
  const data = { conversation_id: `${dangerous.join("x")}\n` }
  // Values of an event are IDs, as far as the service sends it.
  const event = { id: "1", type: "conversation.closed", timestamp: DateTime.makeUnsafe(0), data } as unknown as Event
  assert.isFalse(isObeyed(stripVTControlCharacters(wordsOf(event))))
  assert.include(wordsOf(event), "\\u202e")
})

it("commands write only escaped text, except for styles and the progress bar", () => {
  const unescaped = globSync("packages/server/src/**/*.ts").flatMap((file) => {
    const text = readFileSync(file, "utf8")
    const writes = text.matchAll(
      /\bstd(?:out|err)\.write\((?!(?:`\$\{)?visible\()|\bconsole\.(?:error|info|log|table|warn)\(/g
    )
    return Array.from(writes, ([write]) => `${file}: ${write}`)
  })
  const own = "packages/server/src/cli/Print.ts"
  assert.deepStrictEqual(unescaped, [`${own}: stdout.write(`, `${own}: stderr.write(`])
})

for (const format of ["json", "pretty"]) {
  it.effect(`an entry of the ${format} log has no control characters of its values`, () =>
    Effect.gen(function*() {
      const entries: Array<string> = []
      const error = (...words: ReadonlyArray<unknown>) => void entries.push(words.join(" "))
      const text = dangerous.join("x")
      yield* Effect.logError(text).pipe(
        Effect.annotateLogs({ path: text }),
        Effect.provideService(Console.Console, { ...globalThis.console, error }),
        Effect.provide(Logging.layer),
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ LOG_FORMAT: format })))
      )
      assert.lengthOf(entries, 1)
      assert.isFalse(isObeyed(entries.join("").replaceAll("\n", "")), JSON.stringify(entries))
    }))
}
