import { assert, it } from "@effect/vitest"
import { ofStat } from "../src/harness/ProcessorTime.ts"

it("the text of a process has its parent, and the time of its ended children", () => {
  const rest = "4194304 1 2 3 4 50 60 7 8 20 0"
  const cases = [
    [`42 (node) S 7 42 42 0 -1 ${rest}`, { parent: 7, ended: 150_000 }],
    [`42 (a ) S 9 (b)) R 8 42 42 0 -1 ${rest}`, { parent: 8, ended: 150_000 }],
    ["", { parent: 0, ended: 0 }]
  ] as const
  for (const [text, times] of cases) assert.deepStrictEqual(ofStat(text), times)
})
