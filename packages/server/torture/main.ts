/**
 * The torture test: `npm run torture -- MINUTES SEED`. `README.md` describes a run and its parts.
 *
 * It ends by itself, kills only what it has started, and exits with 1 on a violation, whose calls it prints. Only root can
 * mount the disks that it fills; otherwise that fault is left out. `TORTURE_HISTORY` names a file for the whole history.
 */
import { Effect } from "effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../scripts/bundle.ts"
import { checkOutPrevious } from "../testing/PreviousVersion.ts"
import * as Processes from "../testing/Processes.ts"
import { sources } from "../testing/Programs.ts"
import { check } from "./checker/Checker.ts"
import * as Report from "./run/Report.ts"
import { run } from "./run/Run.ts"

const minutes = Number(process.argv[2] ?? 1)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1_000_000))
const clients = 6
const disk_mib = 256

const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())

const build = fileURLToPath(new URL("../../../build", import.meta.url))
mkdirSync(build, { recursive: true })
const folder = mkdtempSync(join(build, "torture-"))
const directory = mkdtempSync(join(tmpdir(), "messaging-crm-torture-"))

/** Bundles the previous version, unless the repository has none that this version can migrate. */
const before = () => {
  const old = join(folder, "before")
  mkdirSync(old)
  try {
    return checkOutPrevious(old).programs
  } catch (error) {
    console.log(`There is no previous version: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

const programOf = (name: string): string => join(folder, "now", `${name}.js`)

const torture = Effect.gen(function*() {
  yield* Effect.promise(() => bundle(join(folder, "now"), sources))
  return yield* run({
    seed,
    seconds: minutes * 60,
    clients,
    onPhase: (phase) => console.log(`${(performance.now() / 1000).toFixed(0).padStart(4)} s ${phase}`),
    directory,
    disk_mib: process.getuid?.() === 0 ? disk_mib : null,
    programs: { server: programOf("server"), worker: programOf("worker") },
    before: before()
  }).pipe(
    Effect.provideService(Processes.Program, {
      words: [programOf("main")],
      environment: { NODE_COMPILE_CACHE: join(folder, "compiled") }
    })
  )
}).pipe(Effect.scoped, Effect.timeout(`${minutes * 60 + 240} seconds`))

const history = await Effect.runPromise(torture, { signal: stop.signal }).finally(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(directory, { recursive: true, force: true })
})
const file = process.env["TORTURE_HISTORY"]
if (file !== undefined) writeFileSync(file, JSON.stringify(history))
const checked_from = performance.now()
const violations = check(history)
Report.print(history, violations, { minutes, checked_ms: Math.round(performance.now() - checked_from) })
process.exit(violations.length === 0 ? 0 : 1)
