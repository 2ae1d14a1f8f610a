import { assert, it } from "@effect/vitest"
import { rowsOf } from "../src/http/Comparison.ts"
import type { Round } from "../src/http/Rounds.ts"

const round = (per_second: number): Round => ({
  per_second,
  p50_ms: 1,
  p99_ms: 2,
  server_us: 3,
  postgres_us: 4,
  load_us: 5,
  bytes: 6,
  failed: 0,
  other_processes_percent: 0
})

it("a workload has a row for each target, with its statements, and the throughput of the service divided by its own", () => {
  const rounds = new Map(
    [
      ["service", [round(30), round(20)]],
      ["pool", [round(10), round(10)]],
      ["pipeline", [round(60), round(40)]]
    ] as const
  )
  assert.deepStrictEqual(rowsOf("read a contact", rounds, [2, 3, 1]), [
    { title: "read a contact", name: "service", statements: 2, medians: round(25), ratio: 1 },
    { title: "read a contact", name: "pool", statements: 3, medians: round(10), ratio: 2.5 },
    { title: "read a contact", name: "pipeline", statements: 1, medians: round(50), ratio: 0.5 }
  ])
})

it("a row without statements or rounds of the service shows that they are missing", () => {
  const [row] = rowsOf("read a contact", new Map([["pool", [round(10)]]] as const), [])
  assert.deepStrictEqual([row?.statements, row?.ratio], [NaN, NaN])
})
