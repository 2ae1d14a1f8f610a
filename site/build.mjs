// Builds the documentation as a static site in build/site: `npm run site`. Its tools have a folder and a lock of their own, so
// that only this build installs them. Each link of the result is checked.
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { script } from "../packages/adapter-http/src/Docs/Explorer.ts"
import { htmlOf, script_path, start_script } from "../packages/adapter-http/src/Docs/Page.ts"
import { hashOf } from "../packages/adapter-http/src/Docs/SecurityPolicy.ts"
import { assets, pages, reference, sections } from "./pages.mjs"

const site = import.meta.dirname
const root = join(site, "..")
const source = join(site, "build/pages")
const built = join(root, "build/site")

const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" })
  if (status !== 0) process.exit(1)
}

const write = (path, text) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

// --------------------------------------------------------------- source

rmSync(source, { recursive: true, force: true })
for (const { path, text } of pages) write(join(source, path), text)
for (const [file, path] of assets) cpSync(join(root, file), join(source, "public", path))

/** The page of the service at `/docs`, which sends no requests. */
const writeReference = async () => {
  const folder = join(source, "public", dirname(reference))
  const document = JSON.parse(readFileSync(join(root, "packages/adapter-http/openapi.json"), "utf8"))
  const integrity = await Effect.runPromise(hashOf(script))
  const html = htmlOf({ document, integrity, script: start_script, sends: false })
  write(
    join(folder, "index.html"),
    html.replaceAll(script_path, "explorer.js").replaceAll("/v1/openapi.json", "../openapi.json")
  )
  write(join(folder, "explorer.js"), script)
}
await writeReference()

// ---------------------------------------------------------------- build

rmSync(built, { recursive: true, force: true })
if (!existsSync(join(site, "node_modules/vitepress"))) run("npm", ["ci", "--no-audit", "--no-fund"], site)
run(join(site, "node_modules/.bin/vitepress"), ["build"], site)

// ----------------------------------------------------- language models

/** The index and the text of the guides for language models (llmstxt.org). */
const guides = sections.flatMap((section) => section.guides)
const index = sections.map(({ guides, title }) =>
  [`## ${title}`, "", ...guides.map(({ page, purpose, title }) => `- [${title}](/${page.path}): ${purpose}`)].join("\n")
)
const about = pages.find(({ path }) => path === "index.md").markdown.split("\n\n")[1].replaceAll("\n", " ")
const intro =
  `# Messaging CRM\n\n> ${about}\n\nThe OpenAPI document is at [/openapi.json](/openapi.json), the whole text of the guides at [/llms-full.txt](/llms-full.txt).`
write(join(built, "llms.txt"), `${[intro, ...index].join("\n\n")}\n`)
write(join(built, "llms-full.txt"), `${guides.map(({ page }) => page.text).join("\n")}`)
// The Markdown of each guide, which llms.txt links.
for (const { page } of guides) write(join(built, page.path), page.text)

// ---------------------------------------------------------------- links

const base = process.env.SITE_BASE ?? "/"
const read = (path) => readFileSync(join(built, path), "utf8")
const html = new Map(globSync("**/*.html", { cwd: built }).map((path) => [path, read(path)]))

/** Returns the file that a path of the site leads to. */
const fileOf = (path) => {
  const file = decodeURI(path).slice(base.length)
  return [file, `${file}.html`, join(file, "index.html")].find((each) =>
    existsSync(join(built, each)) && /\.\w+$/.test(each)
  )
}

const dead = []
for (const [page, text] of html) {
  for (const [, link] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
    if (!link.startsWith("/") && !link.startsWith("#")) continue
    const [path, anchor] = link.split("#")
    const file = path === "" ? page : fileOf(path)
    const isAnchor = anchor === undefined || anchor === "" ||
      html.get(file)?.includes(`id="${decodeURIComponent(anchor)}"`)
    if (file === undefined || !isAnchor) dead.push(`${page}: ${link}`)
  }
}
for (const link of dead) console.log(`DEAD LINK ${link}`)
console.log(`${html.size} pages in build/site, ${dead.length} dead links`)
process.exit(dead.length === 0 ? 0 : 1)
