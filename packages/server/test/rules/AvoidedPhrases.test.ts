/** The texts of the repository contain no phrase that `AvoidedPhrases.ts` lists. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { avoidedEverywhere, avoidedForUsers, type AvoidedPhrase } from "./AvoidedPhrases.ts"
import { textOf } from "./Sources.ts"

/** Pages, and files that users read or copy. */
const pages = [
  ...globSync(["*.md", "docs/*.{md,yaml}", "benchmarks/README.md", "deploy/**/*.*"]),
  ...globSync("{clients,packages,examples,reliability}/**/README.md", { exclude: ["**/node_modules/**"] }),
  "compose.yaml",
  "Dockerfile",
  "packages/adapter-http/openapi.json"
]

const sources = globSync("packages/*/src/**/*.ts", { exclude: ["packages/conformance/**"] })

const programs = globSync(
  "{benchmarks/**,clients/**,examples/**,packages/*/{test,testing}/**,reliability/**}/*.{ts,mjs}",
  {
    exclude: ["**/node_modules/**", "**/generated/**", "**/AvoidedPhrases.ts"]
  }
)

/** Returns the strings of a source, which contain its messages and its help. */
const stringsOf = (source: string): string =>
  Array.from(
    source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\$\{[^}]*\}/gm, "").matchAll(/["`](?:[^"`\\]|\\.)*["`]/g),
    ([found]) => found
  ).join("\n")

/** Returns the comments of a source, without code. */
const commentsOf = (source: string): string =>
  Array.from(
    source.matchAll(/\/\*\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm),
    ([found]) => found.replace(/\n\s*\*/g, "").replace(/`[^`]*`/g, "")
  ).join("\n")

const assertNone = (file: string, text: string, avoided: ReadonlyArray<AvoidedPhrase>): void => {
  for (const { instead, phrase } of avoided) assert.notMatch(text, phrase, `${file}: write instead: ${instead}`)
}

describe("no avoided phrase is in", () => {
  for (const file of pages) it(file, () => assertNone(file, textOf(file), avoidedForUsers))

  it("messages and help", () => {
    for (const file of sources) assertNone(file, stringsOf(textOf(file)), avoidedForUsers)
  })

  it("comments", () => {
    for (const file of [...sources, ...programs]) assertNone(file, commentsOf(textOf(file)), avoidedEverywhere)
  })
})
