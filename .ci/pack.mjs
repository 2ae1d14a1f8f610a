// Builds every package as it is published, into `build/`, and packs each into `build/*.tgz`. With names, such as `client`,
// only these and what they depend on.
//
// In the workspace `exports` name sources, which Node runs as they are; below `node_modules` it does not. What is
// published is compiled: `./src/*.ts` becomes `./dist/src/*.js` with its types, beside the sources that the maps name.
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { noticesOf, packagesOf } from "../packages/server/scripts/BundledPackages.ts"
import { linksOf } from "../packages/server/scripts/Hosting.ts"
import { modules } from "../packages/server/scripts/InlinedModules.ts"
import { inlineDependency } from "./inlined.mjs"

const root = resolve(import.meta.dirname, "..")
const build = join(root, "build")
const json = (file) => JSON.parse(readFileSync(file, "utf8"))
const write = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
/** The Node that every package needs. */
const { engines } = json(join(root, "package.json"))
const run = (program, args, cwd) => execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", 2] })

const packages = readdirSync(join(root, "packages"))
  .map((name) => ({ name, from: join(root, "packages", name), to: join(build, name) }))
  .filter(({ from }) => existsSync(join(from, "src")))
  .map((entry) => ({ ...entry, manifest: json(join(entry.from, "package.json")) }))
  .filter(({ manifest }) => manifest.private !== true)

/** Dependencies first: a package is compiled against what its dependencies publish. */
const inOrder = (rest, done = []) => {
  if (rest.length === 0) return done
  const names = new Set(rest.map(({ manifest }) => manifest.name))
  const ready = rest.filter(({ manifest }) =>
    Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).every((name) => !names.has(name))
  )
  if (ready.length === 0) throw new Error(`These packages depend on each other: ${Array.from(names).join(", ")}`)
  return inOrder(rest.filter((entry) => !ready.includes(entry)), [...done, ...ready])
}

/** The folders of a package that are for its users: those that it exports from. */
const foldersOf = ({ exports }) =>
  Array.from(new Set(Object.values(exports).filter((target) => target.endsWith(".ts")).map((at) => at.split("/")[1])))

/** Where a source is found once it is compiled. */
const compiled = (target) =>
  target.endsWith(".ts")
    ? {
      types: target.replace("./", "./dist/").replace(/\.ts$/, ".d.ts"),
      default: target.replace("./", "./dist/").replace(/\.ts$/, ".js")
    }
    : target

const mapValues = (record, change) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

/** `^` for what keeps its promises between majors, `~` for Effect, whose unstable modules may change in a minor. */
const ranged = (dependencies = {}) =>
  Object.fromEntries(
    Object.entries(dependencies).map(([name, version]) => {
      if (!/^\d+\.\d+\.\d+$/.test(version)) return [name, version]
      return [name, `${/^(@effect\/|effect$)/.test(name) ? "~" : "^"}${version}`]
    })
  )

const manifestOf = ({ manifest, name }) => {
  const { exports, bin, devDependencies: _, scripts: __, ...rest } = manifest
  return {
    engines,
    // The modules that start the command are at the top of their folder.
    sideEffects: bin === undefined ? false : ["./dist/src/*.js", "./dist/src/*.mjs"],
    ...linksOf(name, process.env),
    ...rest,
    ...(rest.dependencies === undefined ? {} : { dependencies: ranged(rest.dependencies) }),
    exports: mapValues(exports, compiled),
    ...(bin === undefined ? {} : { bin: mapValues(bin, (target) => compiled(target).default.replace("./", "")) }),
    files: ["dist", ...foldersOf(manifest), ...(manifest.files ?? [])],
    publishConfig: { access: "public" }
  }
}

const compilerOptions = {
  rootDir: ".",
  outDir: "dist",
  declaration: true,
  declarationMap: true,
  sourceMap: true
}

const prepare = ({ from, manifest, name, to }) => {
  mkdirSync(to, { recursive: true })
  const folders = foldersOf(manifest)
  for (const entry of [...folders, "README.md", ...(manifest.files ?? [])]) {
    cpSync(join(from, entry), join(to, entry), { recursive: true })
  }
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"))
  write(join(to, "package.json"), manifestOf({ manifest, name }))
  write(join(to, "tsconfig.json"), { extends: "../../tsconfig.base.json", compilerOptions, include: folders })
  // The ones that come after find this one by its name.
  const link = join(build, "node_modules", manifest.name)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join("..", "..", name), link)
}

/** Copies the sources that are JavaScript already next to what is compiled. */
const copyModules = ({ to }) => {
  for (const file of globSync("src/**/*.mjs", { cwd: to })) cpSync(join(to, file), join(to, "dist", file))
}

/** Replaces a package's dependency on `@effect/platform-node` by what it uses of that. */
const withoutPlatform = ({ to }) => {
  const folder = join(root, "node_modules", "@effect", "platform-node")
  const needed = inlineDependency(to, "@effect/platform-node", folder)
  const manifest = json(join(to, "package.json"))
  const { "@effect/platform-node": _, ...dependencies } = manifest.dependencies
  for (const name of needed.filter((name) => !(name in manifest.peerDependencies))) {
    dependencies[name] ??= ranged({ [name]: json(join(root, "node_modules", name, "package.json")).version })[name]
  }
  write(join(to, "package.json"), { ...manifest, dependencies })
}

/** Replaces the modules of a package that read a file, with the notices of the packages from npm that the files are from. */
const inlineFiles = ({ name, to }) => {
  for (const { code, file, origin } of modules.filter(({ file }) => file.startsWith(`${name}/`))) {
    writeFileSync(join(to, "dist", file.slice(name.length + 1).replace(/\.ts$/, ".js")), code)
    if (origin !== null) {
      writeFileSync(join(to, "dist", "THIRD-PARTY-LICENSES.txt"), noticesOf(packagesOf([], [origin])))
    }
  }
}

/** The packages that are named, with those that they depend on: all without a name. */
const chosen = (names) => {
  if (names.length === 0) return packages
  const unknown = names.find((name) => !packages.some((entry) => entry.name === name))
  if (unknown !== undefined) {
    console.error(`No package has the name ${unknown}. Choose from: ${packages.map(({ name }) => name).join(", ")}.`)
    process.exit(1)
  }
  const needed = new Set(
    packages.filter(({ name }) => names.includes(name)).flatMap(({ manifest }) =>
      Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    )
  )
  const more = packages.filter(({ manifest, name }) => names.includes(name) || needed.has(manifest.name))
  return more.length === names.length ? more : chosen(more.map(({ name }) => name))
}

const selected = chosen(Array.from(new Set(process.argv.slice(2))))
rmSync(build, { recursive: true, force: true })
const order = []
for (const entry of inOrder(selected)) {
  prepare(entry)
  run("tsc", ["-p", "tsconfig.json"], entry.to)
  copyModules(entry)
  if ("@effect/platform-node" in (entry.manifest.dependencies ?? {})) withoutPlatform(entry)
  inlineFiles(entry)
  const [{ filename, files, unpackedSize }] = JSON.parse(
    run("npm", ["pack", "--json", "--pack-destination", build], entry.to)
  )
  order.push({ name: entry.manifest.name, version: entry.manifest.version, filename })
  console.log(`${filename}: ${files.length} files, ${Math.round(unpackedSize / 1024)} KiB`)
}
// Dependencies first: `.ci/release.mjs` publishes in this order.
write(join(build, "order.json"), order)
