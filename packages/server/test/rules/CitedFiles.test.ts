/** The files that documents cite, and how many of them each path of data has. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync } from "node:fs"
import { join } from "node:path"
import { textOf } from "./Sources.ts"

/** Returns the files that a text names: each with its folder, or after the name of its folder and a colon. */
const filesNamedIn = (text: string): ReadonlySet<string> =>
  new Set(
    text.split("\n").flatMap((line) => {
      let folder: string | null = null
      return Array.from(line.matchAll(/`([\w/-]+)`:|`([\w/.-]+\.ts)`/g), ([, named, file = ""]) => {
        if (named !== undefined) folder = named
        if (file.includes("/")) return [file]
        return folder === null || file === "" ? [] : [`${folder}/${file}`]
      }).flat()
    })
  )

describe("documents", () => {
  for (const file of [...globSync("docs/*.md"), "README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"]) {
    it(`${file} cites files that exist`, () => {
      for (const [, path = ""] of textOf(file).matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|mjs))`/g)) {
        const places = [path, join("packages", path), join(file, "..", path)]
        assert.isTrue(path.endsWith("/X.ts") || places.some((place) => existsSync(place)), `${file} cites ${path}`)
      }
    })
  }

  it("docs/architecture.md cites each file with its folder", () => {
    for (const line of textOf("docs/architecture.md").split("\n")) {
      let folder: string | null = null
      for (const [, named, file] of line.matchAll(/`([\w/-]+)`:|`(\w+\.ts)`/g)) {
        if (named !== undefined) folder = named
        else if (folder !== null) assert.isTrue(existsSync(join("packages", folder, file ?? "")), `${folder}/${file}`)
      }
    }
  })

  it("docs/architecture.md counts the files of each path, within their limits", () => {
    const most: Readonly<Record<string, number>> = {
      "POST /conversations with a template, until its commit": 40,
      "GET /contacts?query=": 25,
      "From a provider's callback to the delivery of a webhook event": 52
    }
    const counted = textOf("docs/architecture.md").split(/^#+ /m).flatMap((section) => {
      const [title = ""] = section.split("\n")
      const [, named = "", count] = /^([^]*?)^These are (\d+) /m.exec(section) ?? []
      return count === undefined ? [] : [{ title, count: Number(count), files: filesNamedIn(named) }]
    })
    assert.lengthOf(counted, 6)
    for (const { count, files, title } of counted) {
      assert.strictEqual(files.size, count, title)
      assert.isAtMost(count, most[title] ?? count, title)
    }
    assert.includeMembers(counted.map(({ title }) => title), Object.keys(most))
  })
})
