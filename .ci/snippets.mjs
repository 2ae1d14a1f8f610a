// Runs every snippet of README.md, docs/, and the READMEs of packages and examples, so that none becomes outdated.
//
// - `sh`: run unchanged, from the root. Blocks of one page share a shell's variables. `npm ci` has been run already.
//   A block with `npm start` is started with its own port and data directory, and with the settings before it. It runs
//   until the end of the page, and later blocks have the variables of `.data/env`. A block with `webhooks listen` runs
//   until the end of the page too, and must have printed an event by then.
// - `ts`: type-checked and run; one that imports `@effect/vitest` or a suite is run as a test.
// - `python`, `go`: run with the client of that language in `clients`.
// - `json`: must be in the OpenAPI document.
//
// Two pages run at a time.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { setTimeout } from "node:timers/promises"

const pages = [
  "README.md",
  ...globSync("docs/*.md"),
  ...globSync("{packages,clients}/*/README.md"),
  ...globSync("examples/{,*/}README.md")
]
const pages_at_once = 2
const fence = /^```(sh|ts|json|python|go)\n([\s\S]*?)^```$/gm
const waited_max = 60_000
let failures = 0

/** Everything that a run leaves on disk is in here. */
const folder = mkdtempSync(join(tmpdir(), "messaging-crm-docs-"))
/** Inside the workspace, so that package names resolve as they do for a user. */
const workspace = mkdtempSync(join("examples", "snippet-"))
process.on("exit", () => {
  for (const each of [folder, workspace]) rmSync(each, { recursive: true, force: true })
})

// ----------------------------------------------------------- processes

/** Every process that runs. Each leads a group of its own, with its children. */
const running = new Set()

let isStopping = false

const begin = (program, args, options) => {
  if (isStopping) throw new Error("The run was stopped.")
  const child = spawn(program, args, { ...options, detached: true })
  running.add(child)
  return child
}

/** Sends a signal to a process and its children, and returns whether there was one. */
const signalAll = (child, signal) => {
  try {
    return process.kill(-child.pid, signal)
  } catch {
    return false
  }
}

const end = async (child) => {
  signalAll(child, "SIGTERM")
  const late = globalThis.setTimeout(() => signalAll(child, "SIGKILL"), 10_000)
  // npm ends before what it started.
  while (signalAll(child, 0)) await setTimeout(50)
  clearTimeout(late)
  running.delete(child)
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    isStopping = true
    void Promise.all(Array.from(running, end)).finally(() => process.exit(1))
  })
}

/** Runs a program to its end. */
const run = async (program, args, { timeout = 180_000, ...options } = {}) => {
  const child = begin(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
  const late = globalThis.setTimeout(() => signalAll(child, "SIGKILL"), timeout)
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
  clearTimeout(late)
  // What it left running in the background.
  signalAll(child, "SIGKILL")
  running.delete(child)
  return { ok: child.exitCode === 0, output: output + errors }
}

/** Returns the first line that begins so. */
const lineOf = async (stream, beginning) => {
  const lines = createInterface(stream)
  for (;;) {
    const [line] = await once(lines, "line")
    if (line.startsWith(beginning)) return line
  }
}

// -------------------------------------------------------------- blocks

/** What a page has while it runs: its shell's variables, what it started, what it listens to, and what it printed. */
const opened = (name) => ({
  name,
  environment: { LOG_LEVEL: "error", ...process.env, TMPDIR: folder },
  started: [],
  listeners: [],
  printed: []
})

const report = (page, code, ok) => {
  page.printed.push(`${ok ? "ok    " : "FAILED"} ${page.name}: ${code.trim().split("\n")[0]}`)
  if (!ok) failures += 1
}

/** Starts what goes on running, and returns once it is ready: null if it is not in time. */
const start = async (page, command, stderr, ready) => {
  const child = begin("bash", ["-c", `exec ${command}`], { env: page.environment, stdio: ["ignore", "pipe", stderr] })
  page.started.push(child)
  const ended = once(child, "exit").then(() => null)
  return Promise.race([ready(child), ended, setTimeout(waited_max, null, { ref: false })])
}

const startService = async (page, code) => {
  const [, settings = ""] = /((?:[A-Z_]+=\S+ )*)npm start/.exec(code)
  const data = mkdtempSync(join(folder, "data-"))
  const command = `env ${settings}npm start --silent -- --json --port 0 --data-dir ${data}`
  const line = await start(page, command, "inherit", (child) => lineOf(child.stdout, "{"))
  if (line === null) return false
  const ready = JSON.parse(line)
  Object.assign(page.environment, {
    BASE_URL: ready.base_url,
    API_KEY: ready.api_key,
    ORGANIZATION_ID: ready.organization_id,
    MEMBER_ID: ready.member_id,
    CHANNEL_ID: ready.channels.find((channel) => channel.type === "phone_messaging").id,
    TEMPLATE_ID: ready.template_ids[0],
    DATABASE_URL: ready.database_url,
    NETWORK_URL: ready.network?.url ?? "",
    SECRET_KEY: readFileSync(join(data, "secret-key"), "utf8")
  })
  return true
}

/** Returns what tells, at the end of the page, whether the listener heard anything. */
const startListener = async (page, code) => {
  const said = await start(page, code, "pipe", async (child) => {
    const heard = lineOf(child.stdout, "").then(() => true)
    await lineOf(child.stderr, "Listening")
    return { heard }
  })
  return async () => said !== null && Promise.race([said.heard, setTimeout(waited_max, false, { ref: false })])
}

/** Runs one block and keeps the variables that it set for the next one. */
const runShell = async (page, code) => {
  const state = join(mkdtempSync(join(folder, "shell-")), "state")
  const script = `set -euo pipefail\n${code}\nenv -0 > ${state}`
  const { ok, output } = await run("bash", ["-ac", script], { env: page.environment })
  if (!ok) {
    page.printed.push(output)
    return false
  }
  for (const entry of readFileSync(state, "utf8").split("\0")) {
    const at = entry.indexOf("=")
    if (at > 0) page.environment[entry.slice(0, at)] = entry.slice(at + 1)
  }
  return true
}

const isTest = (code) => /"(@effect\/vitest|@messaging-crm\/conformance\/.*)"/.test(code)

/** Writes all blocks in TypeScript, checks their types at once, and returns the file of each and which of them have flaws. */
const checkTypeScript = async (codes) => {
  const names = codes.map((code, index) => `block-${index}${isTest(code) ? ".test" : ""}.ts`)
  const files = new Map(codes.map((code, index) => [code, join(workspace, names[index])]))
  for (const [code, file] of files) writeFileSync(file, code)
  writeFileSync(join(workspace, "tsconfig.json"), "{\"extends\":\"../../tsconfig.json\",\"include\":[\"*.ts\"]}")
  if (codes.length === 0) return { files, flawed: new Set() }
  const { ok, output } = await run("npx", ["tsc", "-p", workspace, "--pretty", "false"])
  if (ok) return { files, flawed: new Set() }
  console.log(output)
  const flawed = Array.from(files.values()).filter((file) => output.includes(`${file}(`))
  // A flaw in no block, or no response, is a failure of each.
  return { files, flawed: new Set(flawed.length > 0 ? flawed : files.values()) }
}

const runTypeScript = async (page, code, { files, flawed }) => {
  const file = files.get(code)
  if (flawed.has(file)) return false
  const words = isTest(code) ? ["vitest", "run", "--root", workspace, basename(file)] : ["node", file]
  // A suite takes longer than a block.
  const options = isTest(code) ? {} : { timeout: waited_max }
  const { ok, output } = await run("npx", words, { env: page.environment, ...options })
  if (!ok) page.printed.push(output)
  return ok
}

const runPython = async (page, code) => {
  const environment = { ...page.environment, PYTHONPATH: join("clients", "python"), PYTHONDONTWRITEBYTECODE: "1" }
  const { ok, output } = await run("python3", ["-c", code], { env: environment, timeout: waited_max })
  if (!ok) page.printed.push(output)
  return ok
}

const runGo = async (page, code) => {
  const module = mkdtempSync(join(folder, "go-"))
  const client = resolve("clients", "go")
  const requirement = `require messagingcrm v0.0.0\nreplace messagingcrm => ${client}\n`
  writeFileSync(join(module, "go.mod"), `module snippet\ngo 1.19\n${requirement}`)
  writeFileSync(join(module, "main.go"), code)
  const environment = { ...page.environment, GOPROXY: "off", GOFLAGS: "-mod=mod" }
  const { ok, output } = await run("go", ["run", "."], { cwd: module, env: environment })
  if (!ok) page.printed.push(output)
  return ok
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

// --------------------------------------------------------------- pages

const blocksOf = (name) =>
  Array.from(readFileSync(name, "utf8").matchAll(fence), ([, language, code]) => ({ language, code }))

const runBlock = async (page, { language, code }, checked) => {
  if (language === "ts") return report(page, code, await runTypeScript(page, code, checked))
  if (language === "python") return report(page, code, await runPython(page, code))
  if (language === "go") return report(page, code, await runGo(page, code))
  if (language === "json") return report(page, code, documented.has(canonical(JSON.parse(code))))
  if (/\bnpm start\b/.test(code)) return report(page, code, await startService(page, code))
  if (/\bwebhooks listen\b(?! --event )/.test(code)) return page.listeners.push([code, await startListener(page, code)])
  if (/\bnpm test\b/.test(code)) return report(page, code, true)
  return report(page, code, await runShell(page, code.replaceAll("npm ci && ", "")))
}

const runPage = async (name, blocks, checked) => {
  const page = opened(name)
  try {
    for (const block of blocks) await runBlock(page, block, checked)
    for (const [code, heard] of page.listeners) report(page, code, await heard())
  } catch (error) {
    report(page, String(error), false)
  }
  if (page.printed.length > 0) console.log(page.printed.join("\n"))
  await Promise.all(page.started.map(end))
}

// With names of pages as arguments, only those.
const names = process.argv.length > 2 ? process.argv.slice(2) : pages
const chosen = names.map((name) => [name, blocksOf(name)])
const checked = await checkTypeScript(
  chosen.flatMap(([, blocks]) => blocks.filter(({ language }) => language === "ts").map(({ code }) => code))
)
const next = chosen.values()
const runPages = async () => {
  for (const [name, blocks] of next) await runPage(name, blocks, checked)
}
await Promise.all(Array.from({ length: pages_at_once }, runPages))
process.exit(failures === 0 ? 0 : 1)
