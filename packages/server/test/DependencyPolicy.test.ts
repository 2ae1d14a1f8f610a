import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { packagesOf, sbomOf } from "../scripts/BundledPackages.ts"
import { type AuditReport, judgeAdvisories, judgeLicenses, type Severity } from "../scripts/DependencyPolicy.ts"

const locked = {
  "packages/server": {
    dependencies: { "@messaging-crm/core": "1.0.0" },
    peerDependencies: { effect: "4", tried: "1" }
  },
  "node_modules/@messaging-crm/core": { link: true, resolved: "packages/core" },
  "packages/core": { license: "UNLICENSED", dependencies: { pg: "8" } },
  "packages/core/node_modules/pg": {
    license: "MIT",
    peerDependencies: { native: "1" },
    optionalDependencies: { a: "1" }
  },
  "node_modules/a": { license: "ISC" },
  "node_modules/effect": { license: "MIT" },
  "node_modules/pg": { license: "GPL-3.0" },
  "node_modules/vitest": { license: "MPL-2.0" }
}

const advisory = "GHSA-aaaa-bbbb-cccc"

const reportOf = (name: string, severity: Severity): AuditReport => ({
  vulnerabilities: {
    [name]: {
      nodes: [name === "pg" ? "packages/core/node_modules/pg" : `node_modules/${name}`],
      via: ["another", { source: 1, title: "Made up", url: `https://github.com/advisories/${advisory}`, severity }]
    }
  }
})

const judge = (report: AuditReport, until?: string) =>
  judgeAdvisories(
    report,
    locked,
    until === undefined ? [] : [{ advisory, until, reason: "not reachable" }],
    "2026-12-31"
  )

it("the advisory limit is moderate for production, critical for development", () => {
  assert.deepStrictEqual(judge(reportOf("pg", "moderate"))?.failures, [
    "GHSA-aaaa-bbbb-cccc: moderate, production, pg: Made up"
  ])
  assert.deepStrictEqual(judge(reportOf("pg", "low")), {
    failures: [],
    notes: ["GHSA-aaaa-bbbb-cccc: low, production, pg: Made up"]
  })
  assert.lengthOf(judge(reportOf("vitest", "high"))?.failures ?? [""], 0)
  assert.lengthOf(judge(reportOf("vitest", "critical"))?.failures ?? [], 1)
})

it("an exception applies until its date, and is a failure if no advisory needs it", () => {
  assert.deepStrictEqual(judge(reportOf("pg", "critical"), "2026-12-31")?.failures, [])
  assert.lengthOf(judge(reportOf("pg", "critical"), "2026-12-30")?.failures ?? [], 2)
  assert.lengthOf(judge({ vulnerabilities: {} }, "2027-01-31")?.failures ?? [], 1)
})

it("an error of the registry gives no result", () => {
  assert.isNull(judge({ message: "405 Method Not Allowed" }))
})

it("a package that the service needs to run has an allowed license", () => {
  assert.deepStrictEqual(judgeLicenses(locked).failures, [])
  const copyleft = { ...locked, "node_modules/a": { license: "GPL-3.0" }, "node_modules/effect": {} }
  assert.deepStrictEqual(judgeLicenses(copyleft).failures, [
    "node_modules/effect: the license (none) is not allowed",
    "node_modules/a: the license GPL-3.0 is not allowed"
  ])
})

it("the bill of materials lists the packages of the bundle", () => {
  const folder = new URL("../../../node_modules/effect/", import.meta.url).pathname
  const { version } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"))
  const packages = packagesOf([`${folder}dist/Effect.js`, `${folder}dist/Layer.js`, "/packages/core/src/Worker.ts"])
  assert.deepStrictEqual(sbomOf({ name: "@messaging-crm/server", version: "1.0.0" }, packages).components, [{
    type: "library",
    "bom-ref": `pkg:npm/effect@${version}`,
    name: "effect",
    version,
    purl: `pkg:npm/effect@${version}`,
    licenses: [{ license: { id: "MIT" } }]
  }])
})
