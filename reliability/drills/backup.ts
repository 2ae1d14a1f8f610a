/**
 * Backs the service's database up under load with `pg_dump` and pgBackRest, restores both backups, and compares them with the
 * responses that the clients received: `npm run backup-test`. It installs the programs of Debian 13 in a temporary folder
 * with debootstrap, so it must run as root.
 */
import { Effect } from "effect"
import { join } from "node:path"
import { folder } from "../../packages/server/testing/Folder.ts"
import { drill } from "./backup/Backup.ts"
import * as Debian from "./backup/Debian.ts"
import { runDrill } from "./harness/Drill.ts"

const run = Effect.gen(function*() {
  const debian = yield* Debian.install(join(yield* folder, "debian"))
  const result = yield* drill(debian, { clients: 4, writes: 60 })
  console.log(JSON.stringify(result))
  return result.violations.length === 0
})

await runDrill(run.pipe(Effect.timeout("10 minutes")))
