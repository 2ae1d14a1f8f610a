/** Constructs that cost too much memory or time. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

const sources = "packages/{core,adapter-*,destination-*,provider-*}/src/**/*.ts"

// V8 keeps what a generator function refers to until a major collection.
it("no call declares a generator function for a `Result`", () => {
  const found = globSync(sources).filter((file) =>
    !file.startsWith("packages/adapter-memory/") && /\b(?:Result|Option)\.gen\(/.test(textOf(file))
  )
  assert.deepStrictEqual(found, ["packages/core/src/kernel/ResultFunction.ts"])
})

it("no arrow function returns an effect of a generator function that it declares", () => {
  const found = globSync(sources).filter((file) =>
    /\)(?:: [^=]+)? =>\s+Effect\.fnUntraced\(\s*function\*/.test(textOf(file))
  ).toSorted()
  // These functions are called once, with the layer.
  assert.deepStrictEqual(found, [
    "packages/core/src/catalog/ChannelAccounts.ts",
    "packages/core/src/deliveries/WebhookDispatch.ts"
  ])
})

// Patterns backtrack, and a caller can choose a text for which that takes seconds.
it("no statement compares a text with a pattern", () => {
  const pattern = /\bI?LIKE\b|\bSIMILAR TO\b|\bregexp_|!?~~?\*? \$/
  const found = globSync("packages/adapter-postgres/src/**/*.{sql,ts}").filter((file) =>
    pattern.test(textOf(file).replace(/--.*/g, ""))
  )
  assert.deepStrictEqual(found, [])
})
