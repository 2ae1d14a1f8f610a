// Builds what the Dockerfile says and starts it, in a clean folder and without a container engine: COPY, RUN,
// ENTRYPOINT, CMD and HEALTHCHECK, as nobody where that is possible, on a PostgreSQL of its own. The compose file and
// the systemd unit must start the same program.
import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { freePort } from "../packages/server/src/dev/FreePort.ts"
import { settings } from "../packages/server/src/settings/Settings.ts"

const root = resolve(import.meta.dirname, "..")
const folder = mkdtempSync(join(tmpdir(), "messaging-crm-deploy-"))
chmodSync(folder, 0o755)
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

const check = async (what, test) => {
  const started = Date.now()
  const detail = await test()
  const more = typeof detail === "string" ? `: ${detail}` : ""
  console.log(`ok     ${what}${more} (${Math.round((Date.now() - started) / 1000)} s)`)
}

const require = (holds, message) => {
  if (!holds) throw new Error(message)
}

// --------------------------------------------------------------- image

const instructionsOf = (text) =>
  text.split("\n")
    .filter((line) => /^[A-Z]+ /.test(line))
    .map((line) => ({ name: line.split(" ")[0], rest: line.slice(line.indexOf(" ") + 1) }))

/** The instructions of the Dockerfile, by stage. */
const stages = readFileSync(join(root, "Dockerfile"), "utf8").split(/^FROM .*$/m).slice(1).map(instructionsOf)
const [build, image] = stages
const only = (stage, name) => stage.find((each) => each.name === name)?.rest
const fromJson = (text) => JSON.parse(text.slice(text.indexOf("[")))

/** What git has, and no more: what lies about in the folder is not in the image of a clone either. */
const tracked = execFileSync("git", ["ls-files", "package.json", "package-lock.json", "packages"], {
  cwd: root,
  encoding: "utf8"
}).trim().split("\n").filter((file) => existsSync(join(root, file)))

/** Copies what git has from the folder of the repository, as `COPY` does. */
const copy = (rest, to) => {
  const sources = rest.split(" ").slice(0, -1)
  for (const file of tracked) {
    if (!sources.some((source) => file === source || file.startsWith(`${source}/`))) continue
    mkdirSync(dirname(join(to, file)), { recursive: true })
    cpSync(join(root, file), join(to, file))
  }
}

const machine = { ...process.env, PATH: process.env.MACHINE_PATH ?? process.env.PATH }
// npm is the machine's own, which knows its registry; Node is the project's.
const pathFor = (command) => command.startsWith("npm ") ? machine : process.env
const [source, app] = [join(folder, "build"), join(folder, "app")]
mkdirSync(source)
mkdirSync(app)
require(stages.length === 2, "The Dockerfile has another number of stages.")
// A number, because Kubernetes cannot tell of a name whether it is root.
require(/^[1-9]\d*$/.test(only(image, "USER")), "The image runs as root, or as a user without a number.")
for (const { name, rest } of build) {
  if (name === "COPY") copy(rest, source)
  if (name !== "RUN") continue
  await check(`RUN ${rest}`, () =>
    // What `npm ci` has fetched a minute ago is not fetched again.
    execFileSync("sh", ["-c", rest], {
      cwd: source,
      env: { ...pathFor(rest), npm_config_prefer_offline: "true" },
      timeout: 60_000,
      stdio: ["ignore", "ignore", "inherit"]
    }))
}

for (const { name, rest } of image) {
  const [, from, to] = /^--from=build \/app\/(\S+) (\S+)$/.exec(name === "COPY" ? rest : "") ?? []
  if (name === "COPY") require(from !== undefined, `COPY ${rest} is unknown here`)
  if (from !== undefined) cpSync(join(source, from), join(app, to), { recursive: true })
}
rmSync(source, { recursive: true })

await check("nothing but the program is in the image", () => {
  const files = globSync("**/*", { cwd: app, withFileTypes: true }).filter((entry) => entry.isFile())
  const others = files.map(({ name }) => name).filter((name) =>
    !/^(package\.json|THIRD-PARTY-LICENSES\.txt|sbom\.cdx\.json|[\w.-]+\.js)$/.test(name)
  )
  const notices = readFileSync(join(app, "dist", "THIRD-PARTY-LICENSES.txt"), "utf8")
  for (const name of ["effect", "@effect/platform-node", "undici", "uuid", "libphonenumber-js"]) {
    require(notices.includes(`\n${name}`), `The license of ${name} is missing.`)
  }
  require(files.length > 0 && others.length === 0, `The image has ${others.join(", ") || "no files"}`)
})

/** Settings that the container itself determines, or that belong to a command on a developer's machine. */
const ofTheContainer = new Set(["PORT", "HOST", "BASE_URL", "API_KEY"])

const entrypoint = fromJson(only(image, "ENTRYPOINT"))
const healthcheck = fromJson(only(image, "HEALTHCHECK"))
const start = `${entrypoint.join(" ")} ${fromJson(only(image, "CMD")).join(" ")}`

await check("the compose file and the unit start the same", () => {
  const unit = readFileSync(join(root, "deploy", "messaging-crm.service"), "utf8")
  const started = `ExecStart=/usr/bin/env ${start.replace("node ", "node --env-file=%d/environment ")}\n`
  require(unit.includes(started), "ExecStart is not what the image starts")
  for (const { name, rest } of image) {
    require(name !== "ENV" || unit.includes(`Environment=${rest}\n`), `the unit has no ${rest}`)
  }
  const compose = readFileSync(join(root, "compose.yaml"), "utf8")
  const passed = Object.values(settings).map(({ name }) => name).filter((name) => !ofTheContainer.has(name))
  for (const name of passed) require(compose.includes(`      ${name}:`), `compose.yaml does not pass ${name}`)
  for (const command of ["migrate", "serve"]) {
    require(compose.includes(`command: ["${command}"]`), `compose.yaml does not ${command}`)
  }
})

/** What the unit takes from the process, so that a flaw in it reaches nothing else. V8 writes code, so it may do that. */
const hardening = [
  "LoadCredential=environment:/etc/messaging-crm.env",
  ..."NoNewPrivileges PrivateDevices PrivateTmp ProtectClock ProtectControlGroups ProtectHome ProtectHostname".split(
    " "
  ),
  ..."ProtectKernelLogs ProtectKernelModules ProtectKernelTunables RestrictNamespaces RestrictRealtime".split(" "),
  ..."RestrictSUIDSGID LockPersonality RemoveIPC".split(" "),
  "ProtectSystem=strict",
  "ProtectProc=invisible",
  "SystemCallFilter=@system-service",
  "SystemCallFilter=~@privileged",
  "CapabilityBoundingSet=",
  "UMask=0077",
  "LimitCORE=0",
  "MemoryMax=1G"
]

await check("the unit takes from the process what it does not need", () => {
  const lines = readFileSync(join(root, "deploy", "messaging-crm.service"), "utf8").split("\n")
  for (const each of hardening) {
    const line = each.includes("=") ? each : `${each}=yes`
    require(lines.includes(line), `the unit has no ${line}`)
  }
  // systemd reads the unit itself, on a machine that has it.
  const systemd = "/usr/bin/systemd-analyze"
  if (!existsSync(systemd)) return
  const file = join(folder, "messaging-crm.service")
  // It looks for the program, which is not installed here.
  writeFileSync(file, lines.filter((line) => !/^(WorkingDirectory|DynamicUser)=/.test(line)).join("\n"))
  const args = ["security", "--offline=true", "--threshold=30", "--no-pager", file]
  return /Overall exposure level.*?([0-9.]+ \w+)/.exec(execFileSync(systemd, args, { encoding: "utf8" }))?.[1]
})

// --------------------------------------------------------------- start

/** A PostgreSQL that ends with its input. */
const database = spawn(process.execPath, [
  "--input-type=module",
  "-e",
  `
  import * as EmbeddedPostgres from "@messaging-crm/server/EmbeddedPostgres"
  import { Effect } from "effect"
  const program = Effect.gen(function*() {
    console.log(yield* EmbeddedPostgres.start({ directory: ${JSON.stringify(join(folder, "postgres"))} }))
    yield* Effect.callback((resume) => void process.stdin.on("end", () => resume(Effect.void)).resume())
  })
  await Effect.runPromise(Effect.scoped(program))
`
], { cwd: root, stdio: ["pipe", "pipe", "inherit"] })
/** The first line that it prints is its address. */
const [url] = await Promise.race([
  once(createInterface(database.stdout), "line"),
  once(database, "exit").then(([code]) => Promise.reject(new Error(`PostgreSQL did not start: ${code}.`)))
])

const environment = {
  PATH: process.env.PATH,
  ...Object.fromEntries(image.filter(({ name }) => name === "ENV").map(({ rest }) => rest.split("="))),
  DATABASE_URL: url,
  SECRET_KEY: Buffer.alloc(32, "deploy").toString("base64"),
  PROVIDER: "mock",
  HOST: "127.0.0.1",
  PORT: String(await Effect.runPromise(freePort)),
  LOG_LEVEL: "error"
}
const asNobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
// Node itself may lie where only its owner may look.
const nodeAsNobody = () => {
  try {
    execFileSync("node", ["-e", ""], { env: environment, ...asNobody })
    return asNobody
  } catch {
    return {}
  }
}
const options = { cwd: app, env: environment, stdio: ["ignore", "inherit", "inherit"], ...nodeAsNobody() }

const running = []
try {
  await check(
    "migrate",
    () => execFileSync(entrypoint[0], [...entrypoint.slice(1), "migrate"], { ...options, timeout: 60_000 })
  )
  await check("what it prints is the document", () => {
    const [program, ...args] = entrypoint
    const printed = execFileSync(program, [...args, "openapi"], { ...options, stdio: "pipe", encoding: "utf8" })
    const document = readFileSync(join(root, "packages", "adapter-http", "openapi.json"), "utf8")
    require(printed === document, "openapi.json differs")
  })
  await check(`${start}, until it is healthy`, async () => {
    const [program, ...args] = start.split(" ")
    const service = spawn(program, args, options)
    running.push(service)
    const isHealthy = () => {
      try {
        execFileSync(healthcheck[0], healthcheck.slice(1), options)
        return true
      } catch {
        return false
      }
    }
    const deadline = Date.now() + 30_000
    while (!isHealthy()) {
      require(service.exitCode === null && Date.now() < deadline, "The service is not healthy in time.")
      await setTimeout(100)
    }
  })
  await check("a stop ends it with 0", async () => {
    const [service] = running
    const ended = once(service, "exit")
    service.kill("SIGTERM")
    const [code] = await ended
    require(code === 0, `It ended with ${code}.`)
  })
} finally {
  for (const service of running) service.kill("SIGKILL")
  database.stdin.end()
  if (database.exitCode === null) await once(database, "exit")
}
