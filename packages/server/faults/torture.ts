/**
 * Tortures the service and judges the history: `npm run torture -- MINUTES SEED`. Two servers and a worker share PostgreSQL
 * with a standby, the mock network, and the endpoints of webhooks. Clients make random requests of the whole API while a
 * nemesis combines every kind of fault (`../testing/torture/Nemesis.ts`).
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
import { check } from "../testing/torture/Checker.ts"
import { type Call, type Fault, faultKinds, type History, type Violation } from "../testing/torture/History.ts"
import { run } from "../testing/torture/Run.ts"

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

const describeCall = ({ response, client, ended_at, index, operation, request, started_at }: Call): string =>
  [
    `  #${index} client ${client} ${started_at}–${ended_at ?? "?"} ms ${operation}`,
    `    ${request.method} ${request.path} ${JSON.stringify(request.body)} ${request.idempotency_key ?? ""}`,
    `    ${
      response === null
        ? "no response"
        : `${response.status}${response.is_replay ? " replay" : ""} ${response.text.slice(0, 400)}`
    }`
  ].join("\n")

const describe = (violation: Violation, { calls, faults }: History): string => {
  const shown = calls.filter(({ index }) => violation.calls.includes(index))
  const [from, to] = [shown.at(0)?.started_at ?? 0, shown.at(-1)?.ended_at ?? shown.at(-1)?.started_at ?? 0]
  const meanwhile = faults.filter((fault) => fault.from < to + 1000 && fault.to > from - 1000)
  return [
    `VIOLATION ${violation.rule} ${violation.detail}`,
    ...shown.map(describeCall),
    ...meanwhile.map(({ from, kind, target, to }) => `  fault ${kind} (${target}) ${from}–${to} ms`)
  ].join("\n")
}

/** Prints how many faults of each kind there were, and how long they lasted. */
const printFaults = (faults: ReadonlyArray<Fault>): void => {
  for (const kind of faultKinds) {
    const durations = faults.filter((fault) => fault.kind === kind).map(({ from, to }) => to - from)
    const seconds = durations.reduce((sum, millis) => sum + millis, 0) / 1000
    console.log(`${kind.padEnd(20)}${String(durations.length).padStart(4)}${seconds.toFixed(1).padStart(8)} s`)
  }
}

const count = (values: ReadonlyArray<string>) =>
  Object.fromEntries(
    Array.from(Map.groupBy(values, (value) => value), ([value, { length }]) => [value, length] as const).toSorted()
  )

const report = (history: History): boolean => {
  const { accepted, calls, faults, inbound, received } = history
  const begun = performance.now()
  const violations = check(history)
  const checked_ms = Math.round(performance.now() - begun)
  for (const violation of violations.slice(0, 10)) console.log(describe(violation, history))
  printFaults(faults)
  console.log(JSON.stringify({
    seed,
    minutes,
    faults: faults.length,
    operations: count(calls.map(({ operation }) => operation)),
    responses: count(calls.map(({ response }) => response === null ? "none" : String(response.status))),
    calls: calls.length,
    accepted: accepted.length,
    inbound: inbound.length,
    deliveries: received.length,
    checked_ms,
    violations: violations.length
  }))
  return violations.length === 0
}

const history = await Effect.runPromise(torture, { signal: stop.signal }).finally(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(directory, { recursive: true, force: true })
})
const file = process.env["TORTURE_HISTORY"]
if (file !== undefined) writeFileSync(file, JSON.stringify(history))
process.exit(report(history) ? 0 : 1)
