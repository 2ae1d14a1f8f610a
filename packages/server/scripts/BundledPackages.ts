/** The packages from npm that a bundle contains: their license notices, and the bill of materials. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

interface Package {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly text: string
}

const packageOf = (folder: string): Package => {
  const { license = "unknown", name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
  const [file] = globSync("{LICEN[CS]E,COPYING}*", { cwd: folder })
  const text = file === undefined ? "" : readFileSync(`${folder}/${file}`, "utf8").trim()
  return { name, version, license, text }
}

/** Returns the folder of a package that a package in `from` depends on. */
const folderOf = (name: string, from: string): string => {
  const folder = join(from, "node_modules", name)
  if (existsSync(folder)) return folder
  if (dirname(from) === from) throw new Error(`The package ${name} is not installed.`)
  return folderOf(name, dirname(from))
}

/** Returns the folders of a package and of all its dependencies, whose code its own files contain. */
const foldersWithDependencies = (name: string, from: string, known = new Set<string>()): ReadonlySet<string> => {
  const folder = folderOf(name, from)
  if (known.has(folder)) return known
  known.add(folder)
  const { dependencies = {} } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
  for (const dependency of Object.keys(dependencies)) foldersWithDependencies(dependency, folder, known)
  return known
}

/** Returns the packages of modules and those whose files were inlined, by name. */
export const packagesOf = (
  modules: ReadonlyArray<string>,
  inlined: ReadonlyArray<string> = []
): ReadonlyArray<Package> => {
  const folders = new Set([
    ...modules.flatMap((module) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module.replace(/^\0/, ""))?.[0] ?? []),
    ...inlined.flatMap((name) => Array.from(foldersWithDependencies(name, import.meta.dirname)))
  ])
  return Array.from(folders, packageOf).toSorted((one, other) => one.name < other.name ? -1 : 1)
}

/** Returns the license notices. */
export const noticesOf = (packages: ReadonlyArray<Package>): string =>
  packages
    .map(({ license, name, text, version }) => `${name} ${version}\nLicense: ${license}\n\n${text}\n`)
    .join(`\n${"-".repeat(80)}\n\n`)

const purlOf = ({ name, version }: Pick<Package, "name" | "version">): string =>
  `pkg:npm/${name.replace("@", "%40")}@${version}`

/** Returns the bill of materials in CycloneDX. `npm sbom` lists what a lockfile installs; this, what the bundle contains. */
export const sbomOf = (
  service: { readonly name: string; readonly version: string },
  packages: ReadonlyArray<Package>
) => ({
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: {
    component: { type: "application", name: service.name, version: service.version, purl: purlOf(service) }
  },
  components: packages.map(({ license, name, version }) => ({
    type: "library",
    "bom-ref": purlOf({ name, version }),
    name,
    version,
    purl: purlOf({ name, version }),
    licenses: [{ license: { id: license } }]
  }))
})
