import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import type { BatchOutcome } from "../../src/cli/CsvImport.ts"
import { counts, errorWords, nothing, plus, progressWords, type Summary } from "../../src/cli/ImportReport.ts"

const batch = (bad: ReadonlyArray<readonly [line: number, message: string]>, created = 0): BatchOutcome => ({
  created,
  unchanged: 0,
  updated: 0,
  duplicates: 0,
  left_out: [],
  bad: bad.map(([line, message]) => ({ line, message, param: null, cells: ["x"] }))
})

const sum = (...batches: ReadonlyArray<BatchOutcome>): Summary => batches.reduce(plus, nothing)

describe("the report of an import", () => {
  it("counts the lines of each reason, most frequent first", () => {
    const lines = Array.from({ length: 300 }, (_, index) => [index + 2, index % 3 === 0 ? "rare." : "often."] as const)
    const summary = sum(batch(lines.slice(0, 250)), batch(lines.slice(250)))
    assert.deepStrictEqual(summary.reasons, [
      { param: null, message: "often.", count: 200, lines: [3, 4, 6, 7, 9] },
      { param: null, message: "rare.", count: 100, lines: [2, 5, 8, 11, 14] }
    ])
    assert.lengthOf(summary.errors, 100)
    assert.strictEqual(summary.failed, 300)
    assert.deepStrictEqual(errorWords(summary).slice(100), [
      "Reasons:",
      "  200 lines (3, 4, 6, 7, 9, …): often.",
      "  100 lines (2, 5, 8, 11, 14, …): rare."
    ])
  })

  it("lists no reasons if each line has its own", () => {
    assert.deepStrictEqual(errorWords(sum(batch([[2, "a."], [7, "b."]]))), ["line 2: a.", "line 7: b."])
  })

  it("lists a bounded number of values that were left out, and counts every one", () => {
    const warning = (line: number) => ({ line, param: "Birthday", message: "left out." })
    const left_out = Array.from({ length: 101 }, (_, index) => warning(index + 2))
    const summary = sum({ ...batch([[200, "a."]]), left_out: left_out.slice(0, 60) }, {
      ...batch([]),
      left_out: left_out.slice(60)
    })
    assert.deepStrictEqual([summary.left_out, summary.failed], [101, 1])
    assert.deepStrictEqual(summary.warnings, left_out.slice(0, 100))
    assert.deepStrictEqual(errorWords(summary).slice(99), [
      "line 101: left out.",
      "101 values were left out, of which the first 100 are listed.",
      "line 200: a."
    ])
  })

  it("keeps a bounded number of reasons, and counts every line", () => {
    const summary = sum(batch(Array.from({ length: 1000 }, (_, index) => [index, `reason ${index}.`] as const)))
    assert.lengthOf(summary.reasons, 50)
    assert.strictEqual(summary.failed, 1000)
  })

  it("counts each line once: duplicates are not invalid", () => {
    const bad = batch([[2, "a."], [3, "b."], [4, "b."]])
    assert.strictEqual(
      counts(sum({ ...bad, duplicates: 2, updated: 1 })),
      "0 created, 1 updated, 0 unchanged, 2 duplicates of other contacts, 1 invalid"
    )
  })

  it("shows the rate and the time left", () => {
    const summary = sum(batch([[2, "a."]], 499))
    assert.strictEqual(
      progressWords(summary, 10, Option.some(0.25)),
      "499 created, 0 unchanged, 1 invalid, 50 lines/s, 30 s left"
    )
    assert.match(progressWords(summary, 100, Option.some(0.25)), /, 5 lines\/s, 5 min left$/)
    assert.match(progressWords(summary, 10, Option.none()), /, 50 lines\/s$/)
    assert.strictEqual(progressWords(summary, 0, Option.some(1)), "499 created, 0 unchanged, 1 invalid")
  })
})
