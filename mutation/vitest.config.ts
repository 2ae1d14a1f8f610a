import { readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"

const root = process.cwd()

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
    include: (process.env["MUTATION_TESTS"] ?? "").split(" "),
    isolate: false
  }
})
