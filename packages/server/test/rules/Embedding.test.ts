/** Rules for programs that embed the core: the examples, and the snippets of the pages. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

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
