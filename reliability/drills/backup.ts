/**
 * Backs the service's database up under load with `pg_dump` and pgBackRest, restores both backups, and compares them with the
 * responses that the clients received: `npm run backup-test`. It installs the programs of Debian 13 in a temporary folder
 * with debootstrap, so it must run as root.
 */
import { Effect } from "effect"
import { drill } from "./backup/Backup.ts"
import * as Debian from "./harness/Debian.ts"
import { runDrill } from "./harness/Drill.ts"

const run = Effect.gen(function*() {
  const debian = yield* Debian.make
  const result = yield* drill(debian, { clients: 4, writes: 60 })
  console.log(JSON.stringify(result))
  return result.violations.length === 0
})

await runDrill(run.pipe(Effect.timeout("10 minutes")))
