/** The links of the pages. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const pages = [
  ...globSync(["*.md", "docs/*.md", "benchmarks/README.md"]),
  ...globSync("{clients,packages,examples,reliability}/**/README.md", { exclude: ["**/node_modules/**"] })
]

/** GitHub's name of a heading. */
const anchorOf = (heading: string): string =>
  heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")

const anchorsOf = (page: string): ReadonlyArray<string> =>
  Array.from(readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm), ([, heading = ""]) => anchorOf(heading))

it("docs/README.md links to every page", () => {
  const links = Array.from(readFileSync("docs/README.md", "utf8").matchAll(/\]\(([\w-]+\.md)\)/g), ([, link]) => link)
  assert.sameMembers(links, globSync("*.md", { cwd: "docs" }).filter((page) => page !== "README.md"))
})

describe("every link has an existing target in", () => {
  for (const page of pages) {
    it(page, () => {
      for (const [, link = ""] of readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue
        const [path = "", anchor] = link.split("#")
        const target = path === "" ? page : join(dirname(page), path)
        assert.isTrue(existsSync(target), `${page}: ${link}`)
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${page}: ${link}`)
      }
    })
  }
})
