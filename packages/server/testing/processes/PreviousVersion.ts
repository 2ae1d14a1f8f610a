/** The previous version, from the repository's history. */
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const storage = "packages/adapter-postgres"
const tables = `${storage}/src/database/schema/tables`
const functions = `${storage}/src/database/schema/functions`

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

/** The arguments of `git log` that find changes of formats before the first release: of tables, of cursors, and deleted functions. */
const formats = [["--", tables, "packages/core/src/kernel/Page.ts"], ["--diff-filter=D", "--", functions]]

/** Returns the last tag before this commit, or, if there is no tag, the last commit that changed a format. */
const defaultRef = (): string => {
  try {
    return git("describe", "--tags", "--abbrev=0", "HEAD^")
  } catch {
    const changes = formats.map((format) => git("log", "-1", "--format=%ct %H", ...format))
    return changes.toSorted().at(-1)?.split(" ")[1] ?? "HEAD"
  }
}

/** Fails unless this version can migrate the tables of that version: each of its table files must exist unchanged. */
const requireMigrations = (folder: string, ref: string): void => {
  for (const file of readdirSync(join(folder, tables))) {
    const now = join(root, tables, file)
    if (!existsSync(now) || !readFileSync(now).equals(readFileSync(join(folder, tables, file)))) {
      throw new Error(`No migration leads from ${ref}: ${tables}/${file} has changed since.`)
    }
  }
}

const Entry = Schema.Record(Schema.String, Schema.Json)
const Lockfile = Schema.fromJsonString(Schema.Struct({ packages: Schema.Record(Schema.String, Entry) }))

/** Returns the npm packages of a lockfile with their versions and checksums, without those of the workspace. */
const lockedPackages = (folder: string): string => {
  const { packages } = Schema.decodeUnknownSync(Lockfile)(readFileSync(join(folder, "package-lock.json"), "utf8"))
  return JSON.stringify(
    Object.entries(packages).filter(([path, entry]) => path.includes("node_modules/") && entry["link"] !== true)
  )
}

/** Installs the npm packages of that version, or links those of this version if both versions have the same. */
const install = (folder: string): void => {
  if (lockedPackages(folder) !== lockedPackages(root)) {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, stdio: "ignore" })
    return
  }
  const from = join(root, "node_modules")
  const to = join(folder, "node_modules")
  mkdirSync(join(to, "@messaging-crm"), { recursive: true })
  for (const name of readdirSync(from).filter((name) => name !== "@messaging-crm")) {
    symlinkSync(join(from, name), join(to, name))
  }
  // The name of each package is the name of its folder.
  for (const name of readdirSync(join(folder, "packages"))) {
    symlinkSync(join(folder, "packages", name), join(to, "@messaging-crm", name))
  }
}

const Manifest = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** Gives that version a lower number than this version, because commits between two releases have the same number. */
const lowerVersionNumber = (folder: string): void => {
  const manifestOf = (at: string) =>
    Schema.decodeUnknownSync(Manifest)(readFileSync(join(at, storage, "package.json"), "utf8"))
  const before = manifestOf(folder)
  if (before["version"] !== manifestOf(root)["version"]) return
  writeFileSync(join(folder, storage, "package.json"), JSON.stringify({ ...before, version: "0.0.0" }))
}

export interface PreviousVersion {
  readonly commit: string
  /** The bundled programs by their names in `Programs.ts`: `main`, and `server` and `worker` with short timeouts. */
  readonly programs: { readonly main: string; readonly server: string; readonly worker: string }
}

const programs = ["server", "worker"] as const

/** Returns the folder of the programs with short timeouts, which some versions before the first release have in `faults`. */
const programsOf = (folder: string): string => {
  const places = ["packages/server/testing/programs", "packages/server/faults"].map((place) => join(folder, place))
  return places.find((place) => existsSync(place)) ?? ""
}

/** Checks a version out into an empty folder, bundles it there, and returns its programs. */
export const checkOutPrevious = (folder: string, ref: string = defaultRef()): PreviousVersion => {
  const commit = git("rev-parse", "--short", `${ref}^{commit}`)
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 256 * 1024 * 1024 })
  execFileSync("tar", ["-x"], { cwd: folder, input: archive })
  requireMigrations(folder, ref)
  install(folder)
  lowerVersionNumber(folder)
  const sources = Object.fromEntries(
    programs.map((name) => [name, join(programsOf(folder), `${name}.ts`)])
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
