import { assert, it } from "@effect/vitest"
import { combine, type Cost, costOf } from "../src/cost/Measurement.ts"
import { bytesOf, type Costs, dayOf, host, limitsOf, type Mix, needOf, peak_factor } from "../src/cost/Needs.ts"
import * as Tables from "../src/cost/Tables.ts"

const free = costOf(() => 0)

/** Costs of nothing, except for an operation. */
const costsWith = (costs: Partial<Costs>): Costs => ({
  read: free,
  list: free,
  update: free,
  upsert: free,
  inbound: free,
  send: free,
  delivery: free,
  ...costs
})

const mix: Mix = {
  contacts: 100,
  daily: { read: 86_400, list: 0, update: 0, upsert: 10, inbound: 1000, send: 0, delivery: 0 }
}

it("rounds have their least CPU time, and the log with and without images of pages", () => {
  const roundOf = (has_images: boolean, postgres_us: number, wal: number) => ({ ...free, has_images, postgres_us, wal })
  const combined = combine([
    roundOf(true, 5, 900),
    roundOf(false, 3, 100),
    roundOf(true, 4, 700),
    roundOf(false, 9, 300)
  ])
  assert.deepStrictEqual([combined.postgres_us, combined.wal_most, combined.wal_least], [3, 800, 200])
})

it("the cost of a day is that of its operations", () => {
  const read: Cost = { ...free, server_us: 3, bytes: { ...free.bytes, audit: 2 } }
  const inbound: Cost = { ...free, server_us: 5 }
  const day = dayOf(costsWith({ read, inbound }), mix)
  assert.strictEqual(day.server_us, 3 * 86_400 + 5 * 1000)
  assert.strictEqual(day.bytes.audit, 2 * 86_400)
})

it("rows need disk for as long as they are kept, and contacts once", () => {
  const bytes = { unlimited: 1, days_30: 1000, hours_72: 100_000, audit: 10_000_000 }
  const inbound: Cost = { ...free, bytes }
  const upsert: Cost = { ...free, bytes: { ...free.bytes, unlimited: 7 } }
  const expected = 1.5 * (100 * 7 + 1000 * (365 + 30 * 1000 + 3 * 100_000 + 400 * 10_000_000))
  assert.closeTo(bytesOf(costsWith({ inbound, upsert }), mix), expected, 1)
})

it("the busiest minutes determine processors and transactions, and each server is used by half", () => {
  const read: Cost = { ...free, server_us: 400_000, worker_us: 100_000, postgres_us: 300_000, upkeep_us: 100_000 }
  const costs = costsWith({ read: { ...read, transactions: 2 } })
  const need = needOf(costs, mix, 10)
  // One read per second of each organization.
  assert.closeTo(need.service_cores, 10 * peak_factor * 0.5, 1e-9)
  assert.closeTo(need.postgres_cores, 10 * peak_factor * 0.4, 1e-9)
  assert.closeTo(need.transactions, 10 * peak_factor * 2, 1e-9)
  assert.strictEqual(need.processes, 50)
  assert.strictEqual(need.connections, 500)
  assert.strictEqual(need.servers.processors, Math.ceil(20 / (host.cores / 2)))
  assert.strictEqual(need.cells, need.servers.processors)
  assert.strictEqual(limitsOf(costs, mix).processors, Math.floor(host.cores / 2 / (peak_factor * 0.4)))
})

it("few organizations need one cell and two processes", () => {
  const need = needOf(costsWith({ read: { ...free, server_us: 1, postgres_us: 1, transactions: 1 } }), mix, 1)
  assert.deepStrictEqual([need.cells, need.processes], [1, 2])
})

it("a table has a row for each cost, and numbers without superfluous digits", () => {
  const lines = Tables.costs({ read: { ...free, server_us: 1234.5 }, list: { ...free, server_us: 0.0123 } }).split("\n")
  assert.lengthOf(lines, 4)
  assert.match(lines[2] ?? "", /^\| read \| 1,235 \|/)
  assert.match(lines[3] ?? "", /^\| list \| 0\.012 \|/)
})
