/** The failover drill inside of its namespaces. Its arguments are the folder of Debian, an empty folder, faults, and a seed. */
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { join } from "node:path"
import { runDrill } from "../harness/Drill.ts"
import { drill, type Failover } from "./Failover.ts"
import { kinds } from "./Faults.ts"
import { endWithInput } from "./Namespaces.ts"
import * as PatroniCluster from "./PatroniCluster.ts"
import { first_write_max_ms } from "./Promise.ts"

const [, , root = "", directory = "", faults = "", seed = ""] = process.argv

/** Returns the median and the maximum. */
const summary = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[Math.floor(sorted.length / 2)], max: sorted.at(-1) }
}

const summaries = (failovers: ReadonlyArray<Failover>) =>
  Object.fromEntries(kinds.map((kind) => {
    const done = failovers.filter(({ fault }) => fault === kind)
    return [kind, {
      faults: done.length,
      first_write_ms: summary(done.map(({ first_write_ms }) => first_write_ms)),
      longest_gap_ms: summary(done.map(({ longest_gap_ms }) => longest_gap_ms))
    }]
  }))

const run = Effect.gen(function*() {
  const cluster = yield* PatroniCluster.make(root, directory)
  const { failovers, violations, ...counts } = yield* drill(cluster, {
    faults: Number(faults),
    seed: Number(seed),
    clients: 6,
    onFailover: (failover) => console.log(JSON.stringify(failover))
  })
  const load = loadavg().map((average) => Number(average.toFixed(1)))
  console.log(JSON.stringify({ faults: failovers.length, ...summaries(failovers), ...counts, load, violations }))
  return violations.length === 0 && failovers.every(({ first_write_ms }) => first_write_ms <= first_write_max_ms)
})

/** Prints the end of each log of the cluster. */
const printLogs = Effect.sync(() => {
  for (const file of globSync(["*.log", "*/*.log"], { cwd: directory })) {
    const lines = readFileSync(join(directory, file), "utf8").split("\n").slice(-30)
    console.error(`--- ${file}\n${lines.join("\n")}`)
  }
})

endWithInput()
await runDrill(
  run.pipe(
    Effect.tap((passed) => passed ? Effect.void : printLogs),
    Effect.onError(() => printLogs)
  )
)
