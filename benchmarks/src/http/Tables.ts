/** The results as a table in Markdown. */
import type { Name } from "../load/Targets.ts"
import type { Round } from "./Rounds.ts"

export interface Row {
  readonly title: string
  readonly name: Name
  readonly statements: number
  readonly medians: Round
  /** The throughput of the service divided by that of this target. */
  readonly ratio: number
}

const columns: ReadonlyArray<readonly [string, (row: Row) => string]> = [
  ["", ({ name, title }) => name === "service" ? title : ""],
  ["", ({ name }) => name],
  ["Requests per second", ({ medians }) => medians.per_second.toFixed(0)],
  ["p50 (ms)", ({ medians }) => medians.p50_ms.toFixed(1)],
  ["p99 (ms)", ({ medians }) => medians.p99_ms.toFixed(1)],
  ["Server (µs)", ({ medians }) => medians.server_us.toFixed(0)],
  ["PostgreSQL (µs)", ({ medians }) => medians.postgres_us.toFixed(0)],
  ["Statements", ({ statements }) => String(statements)],
  ["Bytes", ({ medians }) => medians.bytes.toFixed(0)],
  ["Failed", ({ medians }) => String(medians.failed)],
  ["Others (%)", ({ medians }) => medians.other_processes_percent.toFixed(0)],
  ["Service : this", ({ name, ratio }) => name === "service" ? "" : ratio.toFixed(2)]
]

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

export const header = [
  line(columns.map(([title]) => title)),
  line(columns.map((_, index) => index < 2 ? "---" : "---:"))
].join("\n")

export const row = (row: Row): string => line(columns.map(([, text]) => text(row)))
