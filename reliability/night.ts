/**
 * Runs every test, drill, and benchmark with a check, one after the other: `npm run night`, for 480 minutes, or `-- 60`. Each
 * part runs once if the time allows; then the parts with a seed run again with other seeds until the time is over.
 *
 * The report is a table, on the screen and in `build/night/report.md`, next to the output of each part. `NIGHT_SEED` sets
 * the first seed. The exit code is 1 if a part failed.
 */
import { spawn } from "node:child_process"
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

/** A part: an npm script, its arguments and environment for a seed, and the minutes after which it has failed. */
interface Part {
  readonly script: string
  readonly minutes: number
  readonly args?: (seed: number) => ReadonlyArray<string | number>
  readonly environment?: (seed: number) => Readonly<Record<string, number>>
  readonly needsRoot?: boolean
}

const parts: ReadonlyArray<Part> = [
  {
    script: "test:all",
    minutes: 30,
    args: (seed) => ["--sequence.shuffle.tests", `--sequence.seed=${seed}`],
    environment: (seed) => ({ INTERLEAVINGS: 2000, INTERLEAVINGS_SEED: seed, PROPERTY_RUNS: 200, RACE_ROUNDS: 20 })
  },
  { script: "simulate", minutes: 15, args: (seed) => [200, seed] },
  { script: "torture", minutes: 15, args: (seed) => [10, seed] },
  { script: "fuzz:sockets", minutes: 5, args: (seed) => [120, seed] },
  { script: "upgrade-test", minutes: 10 },
  { script: "kill-test", minutes: 20 },
  { script: "delivery-test", minutes: 20 },
  { script: "follow-test", minutes: 40 },
  { script: "failover-test", minutes: 45, args: (seed) => [20, seed], needsRoot: true },
  { script: "move-test", minutes: 30, args: (seed) => [2, seed] },
  { script: "disk-test", minutes: 10, needsRoot: true },
  { script: "backup-test", minutes: 10, needsRoot: true },
  { script: "coverage", minutes: 20 },
  { script: "bench", minutes: 5, args: () => ["--check"] },
  { script: "bench:contention", minutes: 10 },
  { script: "bench:followers", minutes: 10 },
  { script: "bench:ingress", minutes: 10 },
  { script: "bench:upserts", minutes: 5 },
  { script: "bench:fairness", minutes: 10 },
  { script: "bench:attacks", minutes: 15 },
  { script: "bench:soak", minutes: 30 },
  { script: "mutate", minutes: 150 }
]

interface Result {
  readonly command: string
  readonly state: "failed" | "not run" | "passed"
  readonly seconds: number
  /** The last line of the output, or why the part did not run. */
  readonly detail: string
}

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = join(root, "build", "night")
const started_at = Date.now()
const minutes_max = Number(process.argv[2] ?? 480)
const first_seed = Number(process.env["NIGHT_SEED"] ?? started_at % 1_000_000)
const results: Array<Result> = []
const stop = new AbortController()

const minutesLeft = (): number => minutes_max - (Date.now() - started_at) / 60_000

const seeded = ({ args, environment }: Part): boolean =>
  environment !== undefined || (args !== undefined && args(1).join() !== args(2).join())

/** Returns the command line that runs the part again. */
const commandOf = ({ args = () => [], environment = () => ({}), script }: Part, seed: number): string => {
  const given = args(seed)
  return [
    ...Object.entries(environment(seed)).map(([name, value]) => `${name}=${value}`),
    `npm run ${script}`,
    ...(given.length === 0 ? [] : ["--", ...given])
  ].join(" ")
}

const skipReasonOf = ({ minutes, needsRoot }: Part): string | null => {
  if (needsRoot === true && process.getuid?.() !== 0) return "needs root"
  if (stop.signal.aborted) return "stopped"
  return minutes > minutesLeft() ? `needs up to ${minutes} minutes` : null
}

/** Ends a part with all of its processes, which share a group. */
const end = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

const spawnPart = ({ args = () => [], environment = () => ({}), script }: Part, seed: number) =>
  spawn("npm", ["run", "--silent", script, "--", ...args(seed).map(String)], {
    cwd: root,
    detached: true,
    env: {
      ...process.env,
      NO_COLOR: "1",
      ...Object.fromEntries(Object.entries(environment(seed)).map(([name, value]) => [name, String(value)]))
    },
    stdio: ["ignore", "pipe", "pipe"]
  })

/** Runs a part, with its output in a file, and returns its exit code and last line. */
const execute = (part: Part, seed: number, file: string) =>
  new Promise<{ readonly code: number | null; readonly last: string }>((resolve) => {
    const { minutes } = part
    const child = spawnPart(part, seed)
    const log = createWriteStream(file)
    // JSON in several lines is one: the numbers of a drill.
    let last = ""
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        log.write(`${line}\n`)
        if (line.trim() !== "") last = /^[ }\]]/.test(line) && last.startsWith("{") ? last + line.trim() : line.trim()
      })
    }
    const terminate = (why: string) => () => {
      last = why
      end(child.pid ?? 0, "SIGTERM")
      setTimeout(() => end(child.pid ?? 0, "SIGKILL"), 30_000).unref()
    }
    const timer = setTimeout(terminate(`did not end within ${minutes} minutes`), minutes * 60_000)
    const stopped = terminate("stopped")
    stop.signal.addEventListener("abort", stopped)
    child.once("close", (code) => {
      clearTimeout(timer)
      stop.signal.removeEventListener("abort", stopped)
      log.end()
      resolve({ code, last })
    })
  })

const run = async (part: Part, seed: number): Promise<void> => {
  const command = commandOf(part, seed)
  const skipped = skipReasonOf(part)
  if (skipped !== null) return void results.push({ command, state: "not run", seconds: 0, detail: skipped })
  console.log(`${new Date().toISOString().slice(11, 19)} ${command}`)
  const began_at = Date.now()
  const name = `${String(results.length + 1).padStart(2, "0")}-${part.script.replace(":", "-")}.log`
  const { code, last } = await execute(part, seed, join(folder, name))
  const seconds = Math.round((Date.now() - began_at) / 1000)
  results.push({ command, state: code === 0 ? "passed" : "failed", seconds, detail: `${name}: ${last}` })
  report()
}

/** Writes the report so far, the failures first, and returns it. */
const report = (): string => {
  const order = { failed: 0, passed: 1, "not run": 2 }
  const cell = (text: string) => text.replaceAll("|", "\\|").slice(0, 300)
  const count = (state: Result["state"]) => results.filter((result) => result.state === state).length
  const text = [
    `# Night of ${new Date(started_at).toISOString().slice(0, 16)}`,
    "",
    `${count("failed")} failed, ${count("passed")} passed, ${count("not run")} not run. First seed: ${first_seed}.`,
    "",
    "| Result | Command | Seconds | Output |",
    "|---|---|---|---|",
    ...results.toSorted((a, b) => order[a.state] - order[b.state]).map(({ command, detail, seconds, state }) =>
      `| ${state} | \`${cell(command)}\` | ${seconds} | ${cell(detail)} |`
    ),
    ""
  ].join("\n")
  writeFileSync(join(folder, "report.md"), text)
  return text
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())
mkdirSync(folder, { recursive: true })
let seed = first_seed
for (const part of parts) await run(part, seed)
const repeated = parts.filter(seeded)
while (repeated.some((part) => skipReasonOf(part) === null)) {
  seed += 10_000
  for (const part of repeated.filter((part) => skipReasonOf(part) === null)) await run(part, seed)
}
console.log(`\n${report()}`)
process.exit(results.some(({ state }) => state === "failed") ? 1 : 0)
