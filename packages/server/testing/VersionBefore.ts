/** The version before this one, from the repository's history. */
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const storage = "packages/adapter-postgres"
const tables = `${storage}/src/database/schema/tables`

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

/** The parts that a release must keep compatible, and those that can change before the first release: tables and cursors. */
const formats = [tables, "packages/core/src/kernel/Page.ts"]

/** Returns the last tag before this commit; without one, the commit that was the last to change a format. */
const defaultRef = (): string => {
  try {
    return git("describe", "--tags", "--abbrev=0", "HEAD^")
  } catch {
    return git("log", "-1", "--format=%H", "--", ...formats)
  }
}

/** Fails unless migrations lead from that version to this one: each of its files of tables is here, unchanged. */
const requireMigrations = (folder: string, ref: string): void => {
  for (const file of readdirSync(join(folder, tables))) {
    const now = join(root, tables, file)
    if (!existsSync(now) || !readFileSync(now).equals(readFileSync(join(folder, tables, file)))) {
      throw new Error(`No migration leads from ${ref}: ${tables}/${file} has changed since.`)
    }
  }
}

const Lockfile = Schema.fromJsonString(Schema.Struct({ packages: Schema.Record(Schema.String, Schema.Json) }))

/** Returns the packages of npm that a lockfile names, with their versions and checksums. The workspace's are not among them. */
const lockedIn = (folder: string): string => {
  const { packages } = Schema.decodeUnknownSync(Lockfile)(readFileSync(join(folder, "package-lock.json"), "utf8"))
  const own = "node_modules/@messaging-crm/"
  return JSON.stringify(
    Object.entries(packages).filter(([path]) => path.includes("node_modules/") && !path.startsWith(own))
  )
}

/** Makes the packages of npm available: today's, if both versions need the same, or that version's own. */
const install = (folder: string): void => {
  if (lockedIn(folder) !== lockedIn(root)) {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, stdio: "ignore" })
    return
  }
  const from = join(root, "node_modules")
  const to = join(folder, "node_modules")
  mkdirSync(join(to, "@messaging-crm"), { recursive: true })
  for (const name of readdirSync(from).filter((name) => name !== "@messaging-crm")) {
    symlinkSync(join(from, name), join(to, name))
  }
  // Their names are those of their folders.
  for (const name of readdirSync(join(folder, "packages"))) {
    symlinkSync(join(folder, "packages", name), join(to, "@messaging-crm", name))
  }
}

const Manifest = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** Gives that version a lower number than this one's, which commits between two releases do not have. */
const numberAsBefore = (folder: string): void => {
  const manifestOf = (at: string) =>
    Schema.decodeUnknownSync(Manifest)(readFileSync(join(at, storage, "package.json"), "utf8"))
  const before = manifestOf(folder)
  if (before["version"] !== manifestOf(root)["version"]) return
  writeFileSync(join(folder, storage, "package.json"), JSON.stringify({ ...before, version: "0.0.0" }))
}

export interface VersionBefore {
  readonly commit: string
  /** The bundled programs by their names in `Programs.ts`: `main`, and `server` and `worker` with short timeouts. */
  readonly programs: { readonly main: string; readonly server: string; readonly worker: string }
}

const programs = ["server", "worker"] as const

/** Checks a version out into an empty folder, bundles it there, and returns its programs. */
export const versionBefore = (folder: string, ref: string = defaultRef()): VersionBefore => {
  const commit = git("rev-parse", "--short", `${ref}^{commit}`)
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 256 * 1024 * 1024 })
  execFileSync("tar", ["-x"], { cwd: folder, input: archive })
  requireMigrations(folder, ref)
  install(folder)
  numberAsBefore(folder)
  const sources = Object.fromEntries(
    programs.map((name) => [name, join(folder, "packages/server/faults", `${name}.ts`)])
  )
  const script = `
    const { bundle } = await import("./packages/server/scripts/bundle.ts")
    await bundle("dist", ${JSON.stringify(sources)})
  `
  execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const pathOf = (name: string) => join(folder, "dist", `${name}.js`)
  return { commit, programs: { main: pathOf("main"), server: pathOf("server"), worker: pathOf("worker") } }
}
