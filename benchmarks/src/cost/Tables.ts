/** The costs and the needs as tables in Markdown. */
import type { Cost } from "./Measurement.ts"
import type { Need } from "./Needs.ts"

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const tableOf = <A>(columns: ReadonlyArray<readonly [string, (row: A) => string]>, rows: ReadonlyArray<A>): string =>
  [
    line(columns.map(([title]) => title)),
    line(columns.map((_, index) => index === 0 ? "---" : "---:")),
    ...rows.map((row) => line(columns.map(([, text]) => text(row))))
  ].join("\n")

/** Formats a number: a small one with two digits that are not zero, another one without decimals. */
export const number = (value: number): string =>
  value.toLocaleString("en", value < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 })

interface Row {
  readonly name: string
  readonly cost: Cost
}

/** The cost of one item of each operation. */
export const costs = (all: Readonly<Record<string, Cost>>): string =>
  tableOf<Row>([
    ["One", ({ name }) => name],
    ["Server (µs)", ({ cost }) => number(cost.server_us)],
    ["Worker (µs)", ({ cost }) => number(cost.worker_us)],
    ["PostgreSQL (µs)", ({ cost }) => number(cost.postgres_us)],
    ["Upkeep (µs)", ({ cost }) => number(cost.upkeep_us)],
    ["Log (bytes)", ({ cost }) => number(cost.wal_least)],
    ["Log after a checkpoint (bytes)", ({ cost }) => number(cost.wal_most)],
    ["Transactions", ({ cost }) => number(cost.transactions)],
    ["Rows (bytes)", ({ cost: { bytes } }) => number(bytes.unlimited)],
    ["Events, 30 days (bytes)", ({ cost: { bytes } }) => number(bytes.days_30)],
    ["Idempotency, 72 hours (bytes)", ({ cost: { bytes } }) => number(bytes.hours_72)],
    ["Audit (bytes)", ({ cost: { bytes } }) => number(bytes.audit)]
  ], Object.entries(all).map(([name, cost]) => ({ name, cost })))

/** The needs of each number of organizations. */
export const needs = (all: ReadonlyArray<Need>): string =>
  tableOf<Need>([
    ["Organizations", ({ organizations }) => number(organizations)],
    ["Requests/s", ({ requests }) => number(requests)],
    ["Messages/s", ({ messages }) => number(messages)],
    ["Service cores", ({ service_cores }) => number(service_cores)],
    ["Processes", ({ processes }) => number(processes)],
    ["PostgreSQL cores", ({ postgres_cores }) => number(postgres_cores)],
    ["Transactions/s", ({ transactions }) => number(transactions)],
    ["Log (MB/s)", ({ wal_mb }) => number(wal_mb)],
    ["Log (GB/day)", ({ wal_daily_gb }) => number(wal_daily_gb)],
    ["Disk (GB)", ({ disk_gb }) => number(disk_gb)],
    ["Cells", ({ cells }) => number(cells)],
    ["Connections per server", ({ connections }) => number(connections)]
  ], all)
