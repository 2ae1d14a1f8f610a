/** The public modules of each package. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync } from "node:fs"
import { basename, join } from "node:path"
import { exportsOf, textOf } from "./Sources.ts"

const packages = globSync("packages/*/package.json").map((file) => basename(join(file, "..")))

describe("package exports", () => {
  const texts = globSync(
    "{docs/*.md,README.md,packages/*/README.md,{packages,examples,benchmarks,reliability}/**/*.{ts,mjs}}",
    {
      exclude: ["**/node_modules/**"]
    }
  ).map((file) => ({ file, text: textOf(file) }))

  for (const name of packages) {
    it(`${name} exports single modules that another package uses`, () => {
      for (const [subpath, target] of Object.entries(exportsOf(name))) {
        assert.notInclude(subpath, "*")
        assert.isTrue(existsSync(join("packages", name, target)), `${name} exports ${target}`)
        if (!target.endsWith(".ts") || subpath === ".") continue
        const specifier = `"@messaging-crm/${name}${subpath.slice(1)}"`
        const users = texts.filter(({ text }) =>
          text.includes(specifier) || text.includes(specifier.replaceAll("\"", "`"))
        )
        assert.isTrue(
          users.some(({ file }) => !file.startsWith(`packages/${name}/src/`)),
          `no other package imports ${specifier}`
        )
      }
    })
  }
})
