// Runs every snippet of the README and of docs/: a snippet that no longer works is a lie.
//
// - `sh`: run as pasted, from the root. Blocks of one page share a shell's variables. `npm ci` has been run already.
//   A block with `npm start` is started with a port and a data directory of its own and kept running for the page's
//   later blocks, which find BASE_URL, API_KEY, CHANNEL_ID and TEMPLATE_ID set.
// - `ts`: type-checked and run; one that imports `@effect/vitest` or a suite is run as a test.
import { spawn, spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const pages = [
  "README.md",
  ...globSync("docs/*.md"),
  ...globSync("packages/*/README.md"),
  ...globSync("examples/*/README.md")
]
const fence = /^```(sh|ts)\n([\s\S]*?)^```$/gm
let failures = 0

const report = (page, code, ok) => {
  const first = code.trim().split("\n")[0]
  console.log(`${ok ? "ok    " : "FAILED"} ${page}: ${first}`)
  if (!ok) failures += 1
}

const startService = async (environment) => {
  const data = mkdtempSync(join(tmpdir(), "messaging-crm-docs-"))
  const service = spawn("npm", ["start", "--silent", "--", "--json", "--port", "0", "--data-dir", data], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true
  })
  const timer = setTimeout(() => service.kill(), 60_000)
  for await (const line of createInterface({ input: service.stdout })) {
    clearTimeout(timer)
    const ready = JSON.parse(line)
    environment.BASE_URL = ready.base_url
    environment.API_KEY = ready.api_key
    environment.ORGANIZATION_ID = ready.organization_id
    environment.MEMBER_ID = ready.member_id
    environment.CHANNEL_ID = ready.channels.find((channel) => channel.type === "phone_messaging").id
    environment.TEMPLATE_ID = ready.template_ids[0]
    environment.DATABASE_URL = ready.database_url
    break
  }
  if (environment.BASE_URL === undefined) throw new Error("the service did not start")
  return async () => {
    const exited = new Promise((resolve) => service.once("exit", resolve))
    process.kill(-service.pid, "SIGTERM")
    await exited
    rmSync(data, { recursive: true, force: true })
  }
}

/** Runs one block and keeps the variables that it set for the next one. */
const runShell = (code, environment) => {
  const state = join(mkdtempSync(join(tmpdir(), "messaging-crm-docs-")), "state")
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

/** Inside the workspace, so that package names resolve as they do for a user. */
const runTypeScript = (code, environment) => {
  const folder = mkdtempSync(join("examples", "snippet-"))
  const isTest = /"(@effect\/vitest|@messaging-crm\/core\/conformance\/.*)"/.test(code)
  const file = join(folder, isTest ? "main.test.ts" : "main.ts")
  writeFileSync(file, code)
  writeFileSync(join(folder, "tsconfig.json"), "{\"extends\":\"../../tsconfig.json\",\"include\":[\"*.ts\"]}")
  const checked = spawnSync("npx", ["tsc", "-p", folder], { encoding: "utf8" })
  const result = checked.status === 0
    ? spawnSync("npx", isTest ? ["vitest", "run", "--root", folder] : ["node", file], {
      env: environment,
      encoding: "utf8",
      timeout: 60_000
    })
    : checked
  if (result.status !== 0) console.log(result.stdout, result.stderr)
  rmSync(folder, { recursive: true, force: true })
  return result.status === 0
}

// With names of pages as arguments, only those.
for (const page of process.argv.length > 2 ? process.argv.slice(2) : pages) {
  const environment = { ...process.env }
  let stop = async () => {}
  for (const [, language, code] of readFileSync(page, "utf8").matchAll(fence)) {
    if (language === "ts") report(page, code, runTypeScript(code, environment))
    else if (/\bnpm start\b/.test(code)) {
      stop = await startService(environment)
      report(page, code, true)
    } else if (/\bnpm test\b/.test(code)) report(page, code, true)
    else report(page, code, runShell(code.replaceAll("npm ci && ", ""), environment))
  }
  await stop()
}
process.exit(failures === 0 ? 0 : 1)
