/** The links of errors have targets: in the published contract, and on the docs page of `dev`. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { documentOf } from "../../adapter-http/src/Docs/Contract.ts"
import { path_to_code } from "../../adapter-http/src/Docs/ErrorCodes.ts"

/** A test of the guides compares this table with the codes that responses have. */
const codes = Array.from(
  readFileSync("docs/contract.md", "utf8").split("### 3.4 Error codes")[1]?.split(/^### /m)[0]?.matchAll(
    /^\| `(\w+)`/gm
  ) ??
    [],
  ([, code = ""]) => code
)

const idsOf = (text: string): ReadonlyArray<string> => Array.from(text.matchAll(/id="([^"]+)"/g), ([, id = ""]) => id)

it("each error code has one target in the contract of the website", async () => {
  const site: { readonly pages: ReadonlyArray<{ readonly path: string; readonly text: string }> } = await import(
    `${process.cwd()}/site/pages.mjs`
  )
  const page = site.pages.find(({ path }) => path === "contract.md")?.text ?? ""
  const expected = Array.from(new Set(codes), (code) => `error-${code}`)
  assert.isNotEmpty(expected)
  assert.sameMembers(idsOf(page).filter((id) => id.startsWith("error-")), expected)
})

it("each error code has one target on the docs page", () => {
  const [path, prefix = ""] = path_to_code.split("#?route=")
  assert.strictEqual(path, "/docs")
  const { description } = documentOf(true).info
  assert.sameMembers([...idsOf(description)], Array.from(new Set(codes), (code) => `${prefix}${code}`))
})
