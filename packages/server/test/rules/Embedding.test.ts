/** Rules for programs that embed the core: the examples, and the snippets of the pages. */
import { assert, it } from "@effect/vitest"
import { Context } from "effect"
import { globSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { exportsOf, textOf } from "./Sources.ts"

const pages = globSync(["README.md", "docs/*.md", "{packages,examples}/*/README.md"])

/** Every example and snippet that builds the core, with its name. */
const programs = [
  ...globSync("examples/*/src/*.{ts,mjs}").map((file) => ({ name: file, text: textOf(file) })),
  ...pages.flatMap((file) =>
    Array.from(textOf(file).matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, text = ""], index) => ({
      name: `${file}, snippet ${index + 1}`,
      text
    }))
  )
].filter(({ text }) => text.includes("from \"@messaging-crm/core/Crm\""))

it("a program whose data outlives it has root keys that do too", () => {
  const persistent = programs.filter(({ text }) => text.includes("Postgres.layer"))
  assert.isNotEmpty(persistent)
  for (const { name, text } of persistent) assert.match(text, /Layer\.succeed\(RootKeys, /, name)
})

it("a program with a server of its own waits for that server's last response before it disposes the services", () => {
  const serving = programs.filter(({ text }) => text.includes("server.close()") && text.includes("crm.dispose()"))
  assert.isNotEmpty(serving)
  for (const { name, text } of serving) {
    assert.match(text, /server\.close\(\)\nawait once\(server, "close"\)\nawait crm\.dispose\(\)/, name)
  }
})

it("a message of core about a root key names the server's setting and the reference of embedders", () => {
  const messages = globSync("packages/core/src/**/*.ts").flatMap((file) =>
    Array.from(textOf(file).matchAll(/"[^"\n]*\bSECRET_KEY\b[^"\n]*"/g), ([message]) => ({ file, message }))
  )
  assert.isNotEmpty(messages)
  for (const { file, message } of messages) assert.include(message, "RootKeys", file)
})

/** References that are no settings: core and the adapters set them for one call, and tests and simulations replace them. */
const internal = [
  "`InProcessCaller` from `adapter-http`",
  "`RequestId` from `core/Actor`",
  "`DefaultCountry` from `core/Countries`",
  "`ConflictBackoff` from `core/Decide`",
  "`NextId` from `core/Ids`",
  "`IsPollPause` from `core/Loops`",
  "`RandomBytes` from `core/RandomBytes`",
  "`CurrentTurn` from `core/Turns`",
  "`CurrentWriteTime` from `core/WriteTime`"
]

/** The references that the public modules of the packages export, as the table of docs/embedding.md writes them. */
const exportedReferences = async (): Promise<ReadonlyArray<string>> => {
  const modules = globSync("packages/{core,adapter-*,destination-*,provider-*}/package.json").flatMap((file) => {
    const name = basename(join(file, ".."))
    return Object.entries(exportsOf(name)).flatMap(([subpath, target]) =>
      target.endsWith(".ts") && !/^\.\/(fake|testing)\//.test(subpath)
        ? [{ module: `${name}${subpath.slice(1)}`, path: resolve("packages", name, target) }]
        : []
    )
  })
  const found = await Promise.all(modules.map(async ({ module, path }) => {
    const exported: Readonly<Record<string, unknown>> = await import(path)
    return Object.entries(exported).flatMap(([name, value]) =>
      Context.isKey(value) && Context.isReference(value) ? [`\`${name}\` from \`${module}\``] : []
    )
  }))
  return found.flat()
}

it("docs/embedding.md lists every reference that an embedder can set", async () => {
  const listed = Array.from(
    textOf("docs/embedding.md").matchAll(/^\| (`\w+` from `[^`]+`) \|/gm),
    ([, row = ""]) => row
  )
  assert.sameMembers([...listed, ...internal], [...await exportedReferences()])
})
