import { readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = process.cwd()

const tests = (process.env["MUTATION_TESTS"] ?? "").split(" ")

/** Runs the files in the order of their module's list. Vitest runs the slowest first, although the first failure ends a run. */
class ListedOrder extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const placeOf = ({ moduleId }: TestSpecification) => tests.findIndex((test) => moduleId.endsWith(test))
    return files.toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}

/** Resolves this repository's packages to the copy that is mutated. `node_modules` links to the originals. */
const copiedPackages = {
  name: "copied-packages",
  enforce: "pre" as const,
  resolveId(source: string) {
    const [, name, path] = /^@messaging-crm\/([a-z-]+)(\/.*)?$/.exec(source) ?? []
    if (name === undefined) return null
    const { exports } = JSON.parse(readFileSync(`${root}/packages/${name}/package.json`, "utf8"))
    return `${root}/packages/${name}/${exports[`.${path ?? ""}`]}`
  }
}

export default defineConfig({
  root,
  plugins: [copiedPackages],
  test: {
    include: tests,
    sequence: { sequencer: ListedOrder },
    setupFiles: ["vitest.errors.ts"],
    // A mutant that hangs ends by this, and counts as a timeout.
    testTimeout: 15_000,
    hookTimeout: 30_000,
    isolate: false
  }
})
