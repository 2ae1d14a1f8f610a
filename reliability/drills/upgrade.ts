/**
 * Runs every mix of servers and workers of this version and the previous one on one database, under load, and counts what
 * was lost or duplicated and which requests failed: `npm run upgrade-test`. The previous version is the last tag, or the
 * given commit: `-- HEAD~20`.
 */
import { Effect } from "effect"
import { join } from "node:path"
import { bundle } from "../../packages/server/scripts/bundle.ts"
import { folder } from "../../packages/server/testing/Folder.ts"
import { checkOutPrevious } from "../../packages/server/testing/processes/PreviousVersion.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"
import { drill } from "./upgrade/Upgrade.ts"

const [, , ref] = process.argv

const run = Effect.gen(function*() {
  const [before, now] = [yield* folder, yield* folder]
  yield* Effect.promise(() => bundle(now))
  const { commit, programs } = checkOutPrevious(before, ref)
  console.log(`The previous version is ${commit}.`)
  const result = yield* withPostgres(drill({
    versions: { before: programs.main, now: join(now, "main.js") },
    clients: 2,
    mix_seconds: 3,
    onMix: (mix) => console.log(mix)
  }))
  console.log(JSON.stringify(result))
  return result.violations.length === 0
})

await runDrill(run.pipe(Effect.timeout("15 minutes")))
