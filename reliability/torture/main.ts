/**
 * The torture test: `npm run torture -- MINUTES SEED`. `README.md` describes a run and its parts.
 *
 * It ends by itself, kills only what it has started, and exits with 1 on a violation, whose calls it prints. Only root can
 * mount the disks that it fills; otherwise that fault is left out. With an odd seed, each organization is in a cell of its own. `TORTURE_HISTORY` names a file for the whole history.
 */
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { bundle } from "../../packages/server/scripts/bundle.ts"
import { folder } from "../../packages/server/testing/Folder.ts"
import { checkOutPrevious } from "../../packages/server/testing/processes/PreviousVersion.ts"
import * as Processes from "../../packages/server/testing/processes/Processes.ts"
import { sources } from "../../packages/server/testing/processes/Programs.ts"
import { runDrill } from "../drills/harness/Drill.ts"
import { check } from "./checker/Checker.ts"
import * as Report from "./run/Report.ts"
import { run } from "./run/Run.ts"

const minutes = Number(process.argv[2] ?? 1)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1_000_000))
const clients = 6
const disk_mib = 256

/** Bundles the previous version, unless the repository has none that this version can migrate. */
const bundlePrevious = (directory: string) => {
  mkdirSync(directory)
  try {
    return checkOutPrevious(directory).programs
  } catch (error) {
    console.log(`There is no previous version: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

/** Runs the service under faults, and returns the history. */
const record = Effect.gen(function*() {
  const programs = yield* folder
  const programOf = (name: string): string => join(programs, "now", `${name}.js`)
  yield* Effect.promise(() => bundle(join(programs, "now"), sources))
  return yield* run({
    seed,
    seconds: minutes * 60,
    clients,
    onPhase: (phase) => console.log(`${(performance.now() / 1000).toFixed(0).padStart(4)} s ${phase}`),
    directory: yield* folder,
    are_cells: seed % 2 === 1,
    disk_mib: process.getuid?.() === 0 ? disk_mib : null,
    programs: { server: programOf("server"), worker: programOf("worker") },
    before: bundlePrevious(join(programs, "before"))
  }).pipe(
    Effect.provideService(Processes.Program, {
      words: [programOf("main")],
      environment: { NODE_COMPILE_CACHE: join(programs, "compiled") }
    })
  )
}).pipe(Effect.scoped, Effect.timeout(`${minutes * 60 + 240} seconds`))

await runDrill(Effect.map(record, (history) => {
  const file = process.env["TORTURE_HISTORY"]
  if (file !== undefined) writeFileSync(file, JSON.stringify(history))
  const checked_from = performance.now()
  const violations = check(history)
  Report.print(history, violations, { minutes, checked_ms: Math.round(performance.now() - checked_from) })
  return violations.length === 0
}))
