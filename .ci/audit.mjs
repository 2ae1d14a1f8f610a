// Audits the dependencies by the policy of docs/threat-model.md: advisories, and licenses. A registry that offers no
// audits fails the build only where AUDIT_REQUIRED is set, as in the workflows.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { judgeAdvisories, judgeLicenses } from "../packages/server/scripts/DependencyPolicy.ts"

const root = resolve(import.meta.dirname, "..")
const json = (file) => JSON.parse(readFileSync(join(root, file), "utf8"))
const locked = json("package-lock.json").packages

/** Folders with a lock of their own, whose packages only one check installs. */
const tools = [".ci/openapi", "examples/openapi-client", "site"]

const reportOf = (folder) => {
  const options = { cwd: join(root, folder), encoding: "utf8", timeout: 120_000 }
  const { stderr, stdout } = spawnSync("npm", ["audit", "--json"], options)
  try {
    return JSON.parse(stdout)
  } catch {
    return { message: stderr?.trim() || "no response" }
  }
}

/** Returns one report of all folders, or the one that the registry did not give. */
const merged = (reports) => {
  const missing = reports.find(({ report }) => report.vulnerabilities === undefined)
  if (missing !== undefined) return missing.report
  const entries = reports.flatMap(({ folder, report }) =>
    Object.entries(report.vulnerabilities).map(([name, found]) => [join(folder, name), found])
  )
  return { vulnerabilities: Object.fromEntries(entries) }
}

const report = merged(["", ...tools].map((folder) => ({ folder, report: reportOf(folder) })))
const today = new Date().toISOString().slice(0, 10)
const advisories = judgeAdvisories(report, locked, json(".ci/audit-exceptions.json"), today)
const judged = [judgeLicenses(locked), ...(advisories === null ? [] : [advisories])]
for (const note of judged.flatMap(({ notes }) => notes)) console.log(`ok     ${note}`)
const failures = judged.flatMap(({ failures }) => failures)
if (advisories !== null) console.log(`${advisories.failures.length} advisories or exceptions fail the build.`)
else {
  console.log(`ADVISORIES NOT CHECKED: the registry offers no audit (${report.message}).`)
  if (process.env.AUDIT_REQUIRED === "true") failures.push("AUDIT_REQUIRED is set, and the registry offers no audit")
}
for (const failure of failures) console.log(`FAILED ${failure}`)
process.exit(failures.length === 0 ? 0 : 1)
