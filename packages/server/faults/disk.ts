/**
 * Fills the disk of the service's database under load, and counts what was lost or duplicated once there is space again, and
 * the reads that failed on the full disk: `npm run disk-test`. It mounts a file system of 256 MiB, so it must run as root.
 */
import { ConfigProvider, Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { drill, mounted } from "../testing/FullDisk.ts"
import * as Processes from "../testing/Processes.ts"
import * as Writes from "../testing/Writes.ts"

// So that a drill that is stopped leaves no server and no mount behind.
const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())

const directory = await mkdtemp(join(tmpdir(), "messaging-crm-disk-"))
const result = await Effect.runPromise(
  Effect.gen(function*() {
    const { disk, url } = yield* mounted(directory)
    const cluster = yield* Processes.cluster({ servers: 1, environment: Writes.environment }).pipe(
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url })))
    )
    return yield* drill(cluster, disk, { clients: 4, reads: 2000 })
  }).pipe(Effect.scoped, Effect.timeout("10 minutes")),
  { signal: stop.signal }
).finally(() => rm(directory, { recursive: true, force: true }))

console.log(JSON.stringify(result))
const failed = Object.keys(result.reads).filter((status) => status !== "200")
process.exit(result.violations.length === 0 && failed.length === 0 && result.ready === 503 ? 0 : 1)
