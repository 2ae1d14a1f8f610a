import { assert, it } from "@effect/vitest"
import * as Tables from "../src/http/Tables.ts"

const medians = {
  per_second: 1234.5,
  p50_ms: 1.25,
  p99_ms: 9.96,
  server_us: 100.4,
  postgres_us: 50,
  load_us: 10,
  bytes: 1790,
  failed: 0,
  other_processes_percent: 3.6
}

const cellsOf = (line: string | undefined): ReadonlyArray<string> =>
  (line ?? "").split("|").slice(1, -1).map((cell) => cell.trim())

it("the rows of a table have a cell for each column", () => {
  const row = { title: "read a contact", statements: 2.5, medians, ratio: 0.876 }
  const lines = [Tables.header, Tables.row({ ...row, name: "service" }), Tables.row({ ...row, name: "pool" })]
  for (const line of lines.join("\n").split("\n")) assert.lengthOf(cellsOf(line), 12)
})

it("a workload's title is in the row of the service, and the ratio in the others", () => {
  const row = { title: "read a contact", statements: 2.5, medians, ratio: 0.876 }
  const figures = ["1235", "1.3", "10.0", "100", "50", "2.5", "1790", "0", "4"]
  const service = cellsOf(Tables.row({ ...row, name: "service" }))
  const pool = cellsOf(Tables.row({ ...row, name: "pool" }))
  assert.deepStrictEqual([service, pool], [
    ["read a contact", "service", ...figures, ""],
    ["", "pool", ...figures, "0.88"]
  ])
})
