/**
 * Kills the primary of the service's database, its Patroni, and the leader of etcd, and cuts the primary off, by turns and
 * under load, and counts what was lost or duplicated: `npm run failover-test`, or with another number of faults and another
 * seed, `-- 4 4711`. It also fails if the first write after a fault takes longer than docs/high-availability.md promises.
 *
 * The cluster runs the programs of Debian 13 in a temporary folder, and in namespaces of its own, so it must run as root.
 */
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { folder } from "../../packages/server/testing/Folder.ts"
import * as Namespaces from "./failover/Namespaces.ts"
import * as Debian from "./harness/Debian.ts"
import { runDrill } from "./harness/Drill.ts"

const [, , faults = "20", seed = String(Date.now() % 1_000_000)] = process.argv

const run = Effect.gen(function*() {
  const { root } = yield* Debian.make
  const directory = yield* folder
  console.log(`${faults} faults, seed ${seed}`)
  const code = yield* Namespaces.run(fileURLToPath(new URL("failover/drillProcess.ts", import.meta.url)), [
    root,
    directory,
    faults,
    seed
  ])
  return code === 0
})

await runDrill(run.pipe(Effect.timeout("40 minutes")))
