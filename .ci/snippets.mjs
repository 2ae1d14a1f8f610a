// Runs every snippet of README.md, docs/, and the packages' and examples' READMEs, so that none becomes outdated.
//
// - `sh`: run unchanged, from the root. Blocks of one page share a shell's variables. `npm ci` has been run already.
//   A block with `npm start` is started with its own port and data directory, and with the settings before it. It runs
//   until the end of the page, and later blocks have the variables of `.data/env`. A block with `webhooks listen` runs
//   until the end of the page too, and must have printed an event by then.
// - `ts`: type-checked and run; one that imports `@effect/vitest` or a suite is run as a test.
// - `json`: must be in the OpenAPI document.
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"

const pages = [
  "README.md",
  ...globSync("docs/*.md"),
  ...globSync("packages/*/README.md"),
  ...globSync("examples/*/README.md")
]
const fence = /^```(sh|ts|json)\n([\s\S]*?)^```$/gm
const waited_max = 60_000
let failures = 0

/** Everything that a run leaves on disk is in here. */
const folder = mkdtempSync(join(tmpdir(), "messaging-crm-docs-"))
/** Inside the workspace, so that package names resolve as they do for a user. */
const workspace = mkdtempSync(join("examples", "snippet-"))
process.on("exit", () => {
  for (const each of [folder, workspace]) rmSync(each, { recursive: true, force: true })
})

/** The processes that run during the blocks of the current page. */
let running = []

/** Sends a signal to a child and its children, and answers whether there was any of them. */
const signalAll = (child, signal) => {
  try {
    return process.kill(-child.pid, signal)
  } catch {
    return false
  }
}

let stopped = Promise.resolve()

/** Ends what runs. Who asks while it is ending waits for the same end. */
const stopAll = () =>
  stopped = stopped.then(async () => {
    const children = running
    running = []
    for (const child of children) {
      signalAll(child, "SIGTERM")
      // npm ends before what it started.
      while (signalAll(child, 0)) await setTimeout(50)
    }
  })

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopAll().finally(() => process.exit(1)))

const report = (page, code, ok) => {
  const first = code.trim().split("\n")[0]
  console.log(`${ok ? "ok    " : "FAILED"} ${page}: ${first}`)
  if (!ok) failures += 1
}

/** Starts what goes on running, and answers once it is ready: null when it is not in time. */
const start = async (command, options, ready) => {
  const child = spawn("bash", ["-c", `exec ${command}`], { ...options, detached: true })
  running.push(child)
  const ended = once(child, "exit").then(() => null)
  return Promise.race([ready(child), ended, setTimeout(waited_max, null, { ref: false })])
}

/** Answers the first line that begins so. */
const lineOf = async (stream, beginning) => {
  const lines = createInterface(stream)
  for (;;) {
    const [line] = await once(lines, "line")
    if (line.startsWith(beginning)) return line
  }
}

const startService = async (code, environment) => {
  const [, settings = ""] = /((?:[A-Z_]+=\S+ )*)npm start/.exec(code)
  const data = mkdtempSync(join(folder, "data-"))
  const line = await start(
    `env ${settings}npm start --silent -- --json --port 0 --data-dir ${data}`,
    { env: environment, stdio: ["ignore", "pipe", "inherit"] },
    (child) => lineOf(child.stdout, "{")
  )
  if (line === null) return false
  const ready = JSON.parse(line)
  environment.BASE_URL = ready.base_url
  environment.API_KEY = ready.api_key
  environment.ORGANIZATION_ID = ready.organization_id
  environment.MEMBER_ID = ready.member_id
  environment.CHANNEL_ID = ready.channels.find((channel) => channel.type === "phone_messaging").id
  environment.TEMPLATE_ID = ready.template_ids[0]
  environment.DATABASE_URL = ready.database_url
  environment.NETWORK_URL = ready.network?.url ?? ""
  environment.SECRET_KEY = readFileSync(join(data, "secret-key"), "utf8")
  return true
}

/** Answers what tells, at the end of the page, whether the listener heard anything. */
const startListener = async (code, environment) => {
  const said = await start(code, { env: environment, stdio: ["ignore", "pipe", "pipe"] }, async (child) => {
    const heard = lineOf(child.stdout, "").then(() => true)
    await lineOf(child.stderr, "Listening")
    return { heard }
  })
  return async () => said !== null && Promise.race([said.heard, setTimeout(waited_max, false, { ref: false })])
}

/** Runs one block and keeps the variables that it set for the next one. */
const runShell = (code, environment) => {
  const state = join(folder, "state")
  const script = `set -euo pipefail\n${code}\nenv -0 > ${state}`
  const result = spawnSync("bash", ["-ac", script], { env: environment, encoding: "utf8", timeout: 180_000 })
  if (result.status !== 0) {
    console.log(result.stdout, result.stderr)
    return false
  }
  for (const entry of readFileSync(state, "utf8").split("\0")) {
    const at = entry.indexOf("=")
    if (at > 0) environment[entry.slice(0, at)] = entry.slice(at + 1)
  }
  return true
}

const runTypeScript = (code, environment) => {
  const isTest = /"(@effect\/vitest|@messaging-crm\/conformance\/.*)"/.test(code)
  rmSync(workspace, { recursive: true, force: true })
  mkdirSync(workspace)
  const file = join(workspace, isTest ? "main.test.ts" : "main.ts")
  writeFileSync(file, code)
  writeFileSync(join(workspace, "tsconfig.json"), "{\"extends\":\"../../tsconfig.json\",\"include\":[\"*.ts\"]}")
  const checked = spawnSync("npx", ["tsc", "-p", workspace], { encoding: "utf8" })
  const result = checked.status === 0
    ? spawnSync("npx", isTest ? ["vitest", "run", "--root", workspace] : ["node", file], {
      env: environment,
      encoding: "utf8",
      timeout: waited_max
    })
    : checked
  if (result.status !== 0) console.log(result.stdout, result.stderr)
  return result.status === 0
}

const isObject = (value) => typeof value === "object" && value !== null

/** One spelling of a value, whatever the order of its keys. */
const canonical = (value) =>
  JSON.stringify(
    value,
    (_, inner) =>
      isObject(inner) && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).toSorted()) : inner
  )

const everythingIn = (value) => isObject(value) ? [canonical(value), ...Object.values(value).flatMap(everythingIn)] : []

const documented = new Set(everythingIn(JSON.parse(readFileSync("packages/adapter-http/openapi.json", "utf8"))))

const runPage = async (page) => {
  const environment = { LOG_LEVEL: "error", ...process.env, TMPDIR: folder }
  const listeners = []
  for (const [, language, code] of readFileSync(page, "utf8").matchAll(fence)) {
    if (language === "ts") report(page, code, runTypeScript(code, environment))
    else if (language === "json") report(page, code, documented.has(canonical(JSON.parse(code))))
    else if (/\bnpm start\b/.test(code)) report(page, code, await startService(code, environment))
    else if (/\bwebhooks listen\b/.test(code)) listeners.push([code, await startListener(code, environment)])
    else if (/\bnpm test\b/.test(code)) report(page, code, true)
    else report(page, code, runShell(code.replaceAll("npm ci && ", ""), environment))
  }
  for (const [code, heard] of listeners) report(page, code, await heard())
}

// With names of pages as arguments, only those.
for (const page of process.argv.length > 2 ? process.argv.slice(2) : pages) await runPage(page).finally(stopAll)
process.exit(failures === 0 ? 0 : 1)
