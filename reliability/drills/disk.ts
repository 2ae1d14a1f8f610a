/**
 * Fills the disk of the service's database under load, and counts what was lost or duplicated once there is space again, and
 * the reads that failed on the full disk: `npm run disk-test`. It mounts a file system of 256 MiB, so it must run as root.
 */
import { onServer } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect } from "effect"
import { folder } from "../../packages/server/testing/Folder.ts"
import * as Cluster from "../../packages/server/testing/processes/Cluster.ts"
import { drill, mounted } from "./disk/FullDisk.ts"
import { runDrill } from "./harness/Drill.ts"
import * as Writes from "./harness/Writes.ts"

const run = Effect.gen(function*() {
  const { disk, url } = yield* mounted(yield* folder)
  const cluster = yield* onServer(url)(Cluster.make({ servers: 1, environment: Writes.environment }))
  const result = yield* drill(cluster, disk, { clients: 4, reads: 2000 })
  console.log(JSON.stringify(result))
  const failed = Object.keys(result.reads).filter((status) => status !== "200")
  return result.violations.length === 0 && failed.length === 0 && result.ready === 503
})

await runDrill(run.pipe(Effect.timeout("10 minutes")))
