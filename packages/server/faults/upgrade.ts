/**
 * Runs every mix of servers and workers of this version and the previous one on one database, under load, and counts what
 * was lost or duplicated and which requests failed: `npm run upgrade-test`. The previous version is the last tag, or the
 * given commit: `-- HEAD~20`; `-- HEAD~20 cloud` runs over the fake Graph API.
 */
import { ConfigProvider, Effect } from "effect"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle } from "../scripts/bundle.ts"
import { start as startPostgres } from "../src/dev/EmbeddedPostgres.ts"
import { checkOutPrevious } from "../testing/PreviousVersion.ts"
import { drill } from "../testing/Upgrade.ts"

// So that a drill that is stopped leaves no server behind.
const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())

const [, , ref, provider] = process.argv
const directory = await mkdtemp(join(tmpdir(), "messaging-crm-upgrade-"))
const [data, old, now] = ["data", "before", "now"].map((name) => join(directory, name)) as [string, string, string] // three

const run = Effect.gen(function*() {
  yield* Effect.promise(async () => {
    for (const folder of [data, old]) await mkdir(folder, { recursive: true, mode: 0o755 })
    await bundle(now)
  })
  const { commit, programs } = checkOutPrevious(old, ref)
  console.log(`The previous version is ${commit}.`)
  const url = yield* startPostgres({ directory: data })
  return yield* drill({
    versions: { before: programs.main, now: join(now, "main.js") },
    provider: provider === "cloud" ? "cloud" : "mock",
    clients: 2,
    mix_seconds: 3,
    onMix: (mix) => console.log(mix)
  }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url }))))
})

const result = await Effect.runPromise(run.pipe(Effect.scoped, Effect.timeout("15 minutes")), { signal: stop.signal })
  .finally(() => rm(directory, { recursive: true, force: true }))
console.log(JSON.stringify(result))
process.exit(result.violations.length === 0 ? 0 : 1)
