/** The command line as a person meets it: help, errors, and settings. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Reference from "../../scripts/Reference.ts"
import { folder } from "../../testing/Folder.ts"
import * as Processes from "../../testing/processes/Processes.ts"

const commands = Effect.provide(Reference.commands, NodeServices.layer)

describe("help", () => {
  it.effect("marks required flags and names defaults", () =>
    Effect.gen(function*() {
      for (const { flags, path } of yield* commands) {
        for (const { description, name } of flags) {
          assert.match(description, /\(required\)|\(default: .+\)/, `${path.join(" ")} --${name}`)
        }
      }
    }))

  it.effect("has two examples for every command", () =>
    Effect.gen(function*() {
      for (const { examples, has_commands, path } of yield* commands) {
        if (has_commands && path.length > 1) continue
        assert.isAtLeast(examples.length, 2, path.join(" "))
      }
    }))

  it.live("loads no adapter, so that it appears at once", () =>
    Effect.gen(function*() {
      const hook = join(yield* folder, "loaded.mjs")
      yield* Effect.promise(() =>
        writeFile(
          hook,
          `import { registerHooks } from "node:module"
          registerHooks({ load: (url, context, next) => { process.stderr.write(url + "\\n"); return next(url, context) } })`
        )
      )
      const program = {
        words: ["--import", hook, fileURLToPath(new URL("../../src/main.ts", import.meta.url))],
        environment: {}
      }
      const { code, stderr, stdout } = yield* Effect.provide(
        Processes.run(["keys", "create", "--help"], {}),
        Layer.succeed(Processes.Program, program)
      )
      assert.strictEqual(code, 0)
      assert.include(stdout, "--member")
      assert.include(stderr, "/src/main.ts")
      assert.notMatch(
        stderr,
        /adapter-memory|provider-mock|sql-pg|csv-parse|undici|server\/src\/(Layers|Service|dev\/\w+)\.ts|@redis/
      )
    }).pipe(Effect.scoped))
})

describe("on an older Node", () => {
  const older = (version: string) => {
    const code = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`
    return `data:text/javascript,${encodeURIComponent(code)}`
  }
  const runOn = (version: string, main: string) =>
    Effect.provide(
      Processes.run(["openapi"], {}),
      Layer.succeed(Processes.Program, { words: ["--import", older(version), main], environment: {} })
    )
  const source = fileURLToPath(new URL("../../src/main.ts", import.meta.url))

  it.live("prints the required version, before it loads the program", () =>
    Effect.forEach([Processes.main, source], (main) =>
      Effect.gen(function*() {
        for (const version of ["20.20.2", "22.18.0"]) {
          const { code, stderr, stdout } = yield* runOn(version, main)
          assert.deepStrictEqual(
            [code, stdout, stderr],
            [1, "", `Messaging CRM needs Node 22.19 or newer. This is Node ${version}.\n`]
          )
        }
        for (const version of ["22.19.0", "23.0.0"]) assert.strictEqual((yield* runOn(version, main)).code, 0)
      }), { discard: true }))
})

const id = "00000000-0000-4000-8000-000000000001"
const long = "x".repeat(201)
const init = ["init", "--name", "Acme", "--owner-name", "Ada", "--owner-email", "ada@acme.example"]
const connect = ["channels", "connect", "--organization", id, "--type", "page_messaging", "--name", "Page"].concat(
  ["--address", "acme"]
)
const keysCreate = ["keys", "create", "--organization", id, "--member", id, "--name", "x"]

it.live("errors are sentences", () =>
  Effect.forEach(
    [
      [["keys", "list", "--organization", "x"], "--organization must be a UUID, not \"x\"."],
      [["keys", "list"], "--organization is required."],
      [["keys", "list", "--colour", "x"], "Unknown flag: --colour."],
      [["keys", "lst"], "Unknown command: lst. Did you mean list?"],
      [["contacts", "import", "--organization", id], "<file> is required."],
      [["contacts", "import", "nowhere.csv", "--organization", id], "nowhere.csv does not exist. Check the path."],
      [["contacts", "import", "/", "--organization", id], "/ is a directory. Give the path of a CSV file."],
      [[...keysCreate, "--scope", "all", "--expires", "90d"], "--scope must be"],
      [
        [...keysCreate, "--scope", "tags:read", "--scope", "tags:read", "--expires", "90d"],
        "--scope must have no duplicate items."
      ],
      [[...init, "--channel-name", long], "--channel-name must be 1 to 200 characters"],
      [[...init, "--type", "phone_messaging", "--business-account", long], "--business-account must be"],
      [[...connect, "--business-account", long], "--business-account must be"],
      [[...connect, "--account", long, "--app", "1"], "--account must be"],
      [[...connect, "--account", "1", "--app", long], "--app must be"],
      [[...connect, "--account", "1", "--app", "1", "--page", long], "--page must be"],
      [["members", "add", "--organization", id, "--name", "x", "--email", "x y", "--role", "owner"], "--email must be"],
      [["webhooks", "listen", "--api-key", "svc_live_x", "--event", "x"], "the ID of an event"],
      [["webhooks", "listen", "--api-key", "svc_live_x", "--event", id], "--event requires --forward-to"],
      [["webhooks", "listen", "--api-key", "svc_live_x", "--signing-secret", "x"], "whsec_ and base64"],
      [["webhooks", "listen", "--api-key", "svc_live_x", "--forward-to", "http://10.0.0.1/x"], "--allow-remote"],
      [["webhooks", "listen", "--api-key", "svc_live_x", "--forward-to", "nope"], "an absolute http or https URL"],
      [
        ["keys", "create", "--organization", id, "--member", "x", "--name", "x", "--scope", "tags:read"].concat(
          ["--expires", "90d"]
        ),
        "--member must be"
      ],
      [
        ["audit", "list", "--organization", id, "--before", "2026-02-30T10:00:00Z"],
        "--before must be an RFC 3339 time, such as 2026-11-20T10:00:00Z, not \"2026-02-30T10:00:00Z\"."
      ],
      [
        ["audit", "list", "--organization", id, "--before", "2026-11-20T10:00:00+00:00"],
        "The database at DATABASE_URL cannot be used"
      ],
      [["dev", "--seed-contacts", "-1"], "a whole number from 0"],
      [
        ["webhooks", "listen", "--api-key", "svc_live_x", "--url", "http://127.0.0.1:1/v1"],
        "The service at http://127.0.0.1:1/v1 does not respond. Start it, or choose another --url."
      ]
    ] as const,
    ([args, expected]) =>
      Effect.map(
        Processes.run(args, { DATABASE_URL: "postgres://crm:crm@127.0.0.1:1/crm" }),
        ({ code, stderr, stdout }) => {
          assert.strictEqual(code, 1, expected)
          assert.strictEqual(stdout, "", expected)
          assert.include(stderr, expected)
          assert.notMatch(stderr, /Schema|FileSystem|BadResource|Transport|\bat .*\.ts/)
        }
      ),
    { concurrency: 2, discard: true }
  ))

it.live("a wrong call prints its error, and the command that prints the help", () =>
  Effect.forEach(
    [
      [["dve"], "Unknown command: dve. Did you mean dev?\nSee messaging-crm --help.\n"],
      [["keys", "list", "--colour", "x"], /^Unknown flag: --colour\.\n(.*\n)?See messaging-crm keys list --help\.\n$/]
    ] as const,
    ([args, expected]) =>
      Effect.map(Processes.run(args, {}), ({ code, stderr, stdout }) => {
        assert.deepStrictEqual([code, stdout], [1, ""])
        if (typeof expected === "string") assert.strictEqual(stderr, expected)
        else assert.match(stderr, expected)
      }),
    { discard: true }
  ))

describe("settings", () => {
  it.live("are all checked at once", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* Processes.run(["serve"], { PORT: "http", LOG_FORMAT: "xml", PUBLIC_URL: "here" })
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(stderr.trimEnd().split("\n").map((line) => line.replace(/ .*$/, "")), [
        "PORT",
        "PUBLIC_URL",
        "DATABASE_URL",
        "SECRET_KEY",
        "PROVIDER",
        "LOG_FORMAT"
      ])
    }))

  it.live("that are secret can be in a file", () =>
    Effect.gen(function*() {
      const file = join(yield* folder, "key")
      yield* Effect.promise(() => writeFile(file, `${Buffer.alloc(32).toString("base64")}\n`))
      const { stderr } = yield* Processes.run(["serve"], { SECRET_KEY_FILE: file, PROVIDER: "mock" })
      assert.match(stderr, /^DATABASE_URL is required[^\n]*\n$/)
    }).pipe(Effect.scoped))
})
