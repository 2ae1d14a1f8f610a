/** The keys of the list of conversations. */
import { assert, describe, it } from "vitest"
import { installBrowser } from "./Browser.ts"

// lit-html runs without a browser only if it is loaded before a document exists.
await import("lit-html")
installBrowser({})
const { nextIndex } = await import("../../page/inbox/conversationList.mjs")

describe("a key of the list", () => {
  const cases: ReadonlyArray<readonly [key: string, index: number, step: number, next: number]> = [
    ["down, without a selection", -1, 1, 0],
    ["up, without a selection", -1, -1, 0],
    ["End, without a selection", -1, 1e9, 24],
    ["down", 3, 1, 4],
    ["up, in the first row", 0, -1, 0],
    ["down, in the last row", 24, 1, 24],
    ["page down, in the last rows", 20, 10, 24],
    ["page up, in the first rows", 4, -10, 0],
    ["Home", 20, -1e9, 0],
    ["End", 3, 1e9, 24]
  ]
  for (const [key, index, step, next] of cases) {
    it(`selects conversation ${next} of 25 at ${key}`, () => assert.strictEqual(nextIndex(index, step, 25), next))
  }
})
