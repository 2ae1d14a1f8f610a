/**
 * The modules that read a file. The bundle and the published packages contain their values instead, so that they need no
 * other file, and users can bundle the packages.
 */
import { globSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Explorer from "../../adapter-http/src/Docs/Explorer.ts"
import * as Files from "../../adapter-postgres/src/database/schema/Files.ts"

interface InlinedModule {
  /** The end of its path, in the workspace. */
  readonly file: string
  readonly code: string
  /** The package from npm that the file is from. */
  readonly origin: string | null
}

const codeOf = (values: object): string =>
  Object.entries(values).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`).join("")

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The variant for browsers, which is in the parent directory of the one for servers. */
const litHtml = join(dirname(createRequire(import.meta.url).resolve("lit-html")), "..", "lit-html.js")

/** The texts of the console's page, by their paths. */
const pageTexts = Object.fromEntries([
  ...globSync("**/*.{css,mjs}", { cwd: pathOf("../../console/page") }).map((path) =>
    [path, readFileSync(pathOf(`../../console/page/${path}`), "utf8")] as const
  ),
  ["lit-html.js", readFileSync(litHtml, "utf8")] as const
])

const pageCode = `const texts = new Map(Object.entries(${JSON.stringify(pageTexts)}))
export const textOf = async (path) => texts.get(path) ?? null
`

export const modules: ReadonlyArray<InlinedModule> = [
  { file: "adapter-http/src/Docs/Explorer.ts", code: codeOf(Explorer), origin: "openapi-explorer" },
  { file: "adapter-postgres/src/database/schema/Files.ts", code: codeOf(Files), origin: null },
  { file: "console/src/PageText.ts", code: pageCode, origin: "lit-html" }
]
