// The pages of the site, made of the repository's Markdown: each has its own path, and links that lead to other pages.
import { existsSync, globSync, readFileSync, statSync } from "node:fs"
import { join, normalize } from "node:path"

const root = join(import.meta.dirname, "..")
const read = (file) => readFileSync(join(root, file), "utf8")

const sources = globSync(
  ["*.md", "docs/*.md", "{packages,clients,examples,reliability,benchmarks}/**/README.md"],
  { cwd: root, exclude: ["**/node_modules/**"] }
).toSorted()

/** Returns the path of a source on the site. The names of the root's pages are those of pages in `docs`. */
const pathOf = (source) => {
  if (source === "README.md") return "index.md"
  if (source === "docs/README.md") return "guides.md"
  if (!source.includes("/")) return `repository/${source}`
  return source.replace(/^docs\//, "").replace(/README\.md$/, "index.md")
}

/** The API's reference, which is a page of its own. */
export const reference = "/api/index.html"
const openapi = "packages/adapter-http/openapi.json"

/** Files that are served unchanged: their source, and their path on the site. */
export const assets = new Map(
  globSync("docs/*.{json,yaml,png}", { cwd: root }).map((source) => [source, `/${source.slice("docs/".length)}`])
)
assets.set(openapi, "/openapi.json")

/** Returns where a link leads on the site; null if its target is not on it, such as code. */
const targetOf = (source, link) => {
  if (/^[a-z]+:|^#/.test(link)) return link
  const [path, anchor] = link.split("#")
  const file = normalize(join(source, "..", path)).replace(/\/$/, "")
  const page = existsSync(join(root, file)) && statSync(join(root, file)).isDirectory() ? `${file}/README.md` : file
  if (assets.has(page)) return assets.get(page)
  return sources.includes(page) ? `/${pathOf(page)}${anchor === undefined ? "" : `#${anchor}`}` : null
}

const fences = /(^```[\s\S]*?^```$)/m

/** Returns a page with the links of the site. A link to code leaves its text. */
const withLinks = (source, markdown) =>
  markdown.split(fences).map((part) =>
    part.startsWith("```") ? part : part.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, image, text, link) => {
      const target = targetOf(source, link)
      return target === null ? text : `${image}[${text}](${target})`
    }).replaceAll(/<img src="([^"]+)"/g, (_, link) => `<img src="${targetOf(source, link)}"`)
  ).join("")

/** Gives the row of each error code an anchor, to which the errors of the API link. */
const withErrorAnchors = (source, text) => {
  if (source !== "docs/contract.md") return text
  const [before, table, ...after] = text.split(/(?=^### 3\.[45] )/m)
  const seen = new Set()
  const marked = table.replaceAll(/^\| `(\w+)`/gm, (row, code) => {
    const isFirst = !seen.has(code)
    seen.add(code)
    return isFirst ? row.replace("`", `<span id="error-${code}"></span>\``) : row
  })
  return [before, marked, ...after].join("")
}

const titleOf = (markdown) => /^# (.+)$/m.exec(markdown)?.[1] ?? ""

/** The pages, with their source, path, title, and text. */
export const pages = sources.map((source) => {
  const markdown = read(source)
  return {
    source,
    path: pathOf(source),
    title: titleOf(markdown),
    text: withErrorAnchors(source, withLinks(source, markdown)),
    markdown
  }
})

/** The sections of the guides: the tables of docs/README.md, with the page and the purpose of each row. */
export const sections = read("docs/README.md").split(/^## /m).slice(1).map((section) => ({
  title: section.split("\n")[0],
  guides: Array.from(section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) \| (.+) \|$/gm), ([, title, link, purpose]) => ({
    title,
    page: pages.find(({ path }) => `/${path}` === targetOf("docs/README.md", link)?.split("#")[0]),
    purpose
  }))
}))
