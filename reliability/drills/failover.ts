/**
 * Kills the primary of the service's database with `kill -9` under load and
 * promotes its synchronous standby, and counts what was lost or duplicated:
 * `npm run failover-test`, or with another number of failovers, `-- 5`. It also
 * fails if the first write takes more than 15 seconds after the promotion.
 */
import { Effect } from "effect"
import { folder } from "../../packages/server/testing/Folder.ts"
import { drill } from "./failover/Failover.ts"
import { runDrill } from "./harness/Drill.ts"

const first_write_max_ms = 15_000

/** Returns the median and the maximum. */
const summary = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[Math.floor(sorted.length / 2)], max: sorted.at(-1) }
}

const run = Effect.gen(function*() {
  const { failovers, violations, ...counts } = yield* drill({
    directory: yield* folder,
    failovers: Number(process.argv[2] ?? 20),
    clients: 6,
    onFailover: (failover) => console.log(JSON.stringify(failover))
  })
  const first_write_ms = summary(failovers.map((failover) => failover.first_write_ms))
  const ready_ms = summary(failovers.map((failover) => failover.ready_ms))
  console.log(JSON.stringify({ failovers: failovers.length, first_write_ms, ready_ms, ...counts, violations }))
  return violations.length === 0 && (first_write_ms.max ?? 0) <= first_write_max_ms
})

await runDrill(run.pipe(Effect.timeout("20 minutes")))
