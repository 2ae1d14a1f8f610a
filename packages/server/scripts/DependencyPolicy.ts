/** The policy for advisories and licenses of dependencies, described in `docs/threat-model.md`. */

export type Severity = "info" | "low" | "moderate" | "high" | "critical"

/** The severities that fail the build. */
const failing: Readonly<Record<"production" | "development", ReadonlyArray<string>>> = {
  production: ["moderate", "high", "critical"],
  development: ["critical"]
}

const licenses = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"])

interface Advisory {
  readonly source: number
  readonly title: string
  readonly url: string
  readonly severity: Severity
}

/** The output of `npm audit --json`, which has no vulnerabilities if it is an error. */
export interface AuditReport {
  readonly message?: string
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly nodes: ReadonlyArray<string>; readonly via: ReadonlyArray<string | Advisory> }>
  >
}

/** The packages of `package-lock.json` by their folders. */
type Locked = Readonly<
  Record<string, {
    readonly license?: string
    /** The folder that a link leads to. */
    readonly resolved?: string
    readonly link?: boolean
    readonly dependencies?: Readonly<Record<string, string>>
    readonly optionalDependencies?: Readonly<Record<string, string>>
    readonly peerDependencies?: Readonly<Record<string, string>>
    readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  }>
>

/** Returns the folder of a package as Node finds it from another folder. */
const find = (locked: Locked, from: string, name: string): string | undefined => {
  const folder = `${from === "" ? "" : `${from}/`}node_modules/${name}`
  const found = locked[folder]
  if (found !== undefined) return found.link === true ? found.resolved : folder
  return from === "" ? undefined : find(locked, from.includes("/") ? from.slice(0, from.lastIndexOf("/")) : "", name)
}

/** Returns the folders of what the service needs to run: the dependencies of `packages/server`, and theirs. */
const productionOf = (locked: Locked): ReadonlySet<string> => {
  const all = new Set(["packages/server"])
  for (const folder of all) {
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta } = locked[folder] ?? {}
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta?.[name]?.optional !== true)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const found = find(locked, folder, name)
      if (found !== undefined) all.add(found)
    }
  }
  return all
}

/** An advisory that does not fail the build until a date, such as `2027-01-31`. */
export interface Exception {
  readonly advisory: string
  readonly until: string
  readonly reason: string
}

export interface Verdict {
  /** Findings that fail the build. */
  readonly failures: ReadonlyArray<string>
  /** Findings that do not fail the build. */
  readonly notes: ReadonlyArray<string>
}

const idOf = ({ source, url }: Advisory): string => /GHSA(?:-\w{4}){3}/.exec(url)?.[0] ?? String(source)

/** Judges the advisories; null if the registry answered with an error. `today` is a date, such as `2026-12-31`. */
export const judgeAdvisories = (
  { vulnerabilities }: AuditReport,
  locked: Locked,
  exceptions: ReadonlyArray<Exception>,
  today: string
): Verdict | null => {
  if (vulnerabilities === undefined) return null
  const needed = productionOf(locked)
  const found = Object.entries(vulnerabilities).flatMap(([name, { nodes, via }]) => {
    const kind = nodes.some((node) => needed.has(node)) ? "production" : "development"
    return via.filter((each) => typeof each !== "string").map((advisory) => {
      const { severity, title } = advisory
      return {
        id: idOf(advisory),
        isFailing: failing[kind].includes(severity),
        text: `${idOf(advisory)}: ${severity}, ${kind}, ${name}: ${title}`
      }
    })
  })
  const excepted = new Set(exceptions.filter(({ until }) => until >= today).map(({ advisory }) => advisory))
  const isFailure = ({ id, isFailing }: (typeof found)[number]) => isFailing && !excepted.has(id)
  return {
    failures: [
      ...found.filter(isFailure).map(({ text }) => text),
      ...exceptions.filter(({ until }) => until < today).map(({ advisory, until }) =>
        `${advisory}: the exception ended on ${until}`
      ),
      ...exceptions.filter(({ advisory }) => !found.some(({ id }) => id === advisory)).map(({ advisory }) =>
        `${advisory}: remove the exception, no dependency has this advisory`
      )
    ],
    notes: found.filter((each) => !isFailure(each)).map(({ text }) => text)
  }
}

/** Judges the licenses of what the service needs to run. */
export const judgeLicenses = (locked: Locked): Verdict => {
  const production = Array.from(productionOf(locked)).filter((folder) => folder.includes("node_modules/"))
  const licenseOf = (folder: string) => locked[folder]?.license ?? "(none)"
  return {
    failures: production.filter((folder) => !licenses.has(licenseOf(folder))).map((folder) =>
      `${folder}: the license ${licenseOf(folder)} is not allowed`
    ),
    notes: [`licenses of ${production.length} packages that the service needs to run`]
  }
}
