/**
 * Kills the primary of the service's database with `kill -9` under load and
 * promotes its synchronous standby, and counts what was lost or duplicated:
 * `npm run failover-test`, or with another number of failovers, `-- 5`. It also
 * fails if the first write takes more than 15 seconds after the promotion.
 */
import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { drill } from "../testing/Failover.ts"

const first_write_max_ms = 15_000

// So that a drill that is stopped leaves no server behind.
const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())

const directory = await mkdtemp(join(tmpdir(), "messaging-crm-failover-"))
const { failovers, violations, ...counts } = await Effect.runPromise(
  drill({
    directory,
    failovers: Number(process.argv[2] ?? 20),
    clients: 6,
    onFailover: (failover) => console.log(JSON.stringify(failover))
  }).pipe(Effect.scoped, Effect.timeout("20 minutes")),
  { signal: stop.signal }
).finally(() => rm(directory, { recursive: true, force: true }))

/** Returns the median and the maximum. */
const summary = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[Math.floor(sorted.length / 2)], max: sorted.at(-1) }
}

const first_write_ms = summary(failovers.map((failover) => failover.first_write_ms))
const ready_ms = summary(failovers.map((failover) => failover.ready_ms))
console.log(JSON.stringify({ failovers: failovers.length, first_write_ms, ready_ms, ...counts, violations }))
process.exit(violations.length === 0 && (first_write_ms.max ?? 0) <= first_write_max_ms ? 0 : 1)
