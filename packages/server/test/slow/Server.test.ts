/** The binary, as a person runs it. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Deferred, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { open } from "node:fs/promises"
import { getPriority } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { defaultTemplates } from "../../../provider-cloud/src/fake/Templates.ts"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { freePort } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import { folder } from "../../testing/Folder.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Network from "../../testing/processes/Network.ts"
import * as Organizations from "../../testing/processes/Organizations.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { startHttpServer } from "../../testing/processes/TestHttpServer.ts"

const Data = Schema.fromJsonString(Schema.Struct({ data: Schema.Record(Schema.String, Schema.Unknown) }))

const unreachable = "postgres://postgres:swordfish@127.0.0.1:1/postgres"
const secret = Buffer.alloc(32).toString("base64")
const inMemory = ["dev", "--storage", "memory", "--port", "0"]

it.live("an invalid setting prevents the startup, and the error names it in one line", () =>
  Effect.forEach(
    [
      [["dev"], { PORT: "http" }, "PORT must be"],
      [["dev", "--port", "70000"], {}, "PORT must be"],
      [inMemory, { METRICS_PORT: "0" }, "METRICS_PORT must be"],
      [inMemory, { RATE_LIMIT_PER_MINUTE: "0" }, "RATE_LIMIT_PER_MINUTE must be"],
      [inMemory, { SECRET_KEY: "short" }, "SECRET_KEY must be"],
      [inMemory, { LOG_LEVEL: "loud" }, "LOG_LEVEL must be"],
      [inMemory, { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.1" }, "WEBHOOK_ALLOWED_NETWORKS must be"],
      [inMemory, { WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/8,10.0.0.0/33" }, "WEBHOOK_ALLOWED_NETWORKS must be"],
      [inMemory, { PROVIDER: "pigeon" }, "PROVIDER must be"],
      [["serve"], { DATABASE_URL: "mysql://x", SECRET_KEY: secret, PROVIDER: "mock" }, "DATABASE_URL must be"],
      [["serve"], { DATABASE_URL: unreachable, PROVIDER: "mock" }, "SECRET_KEY is required"],
      [
        ["serve"],
        { DATABASE_URL: unreachable, SECRET_KEY: secret, PROVIDER: "cloud" },
        "CLOUD_ACCOUNTS is required"
      ],
      [
        ["serve"],
        { DATABASE_URL: unreachable, SECRET_KEY: secret, SECRET_KEY_FILE: "key", PROVIDER: "mock" },
        "are both set"
      ],
      [
        ["serve"],
        { DATABASE_URL: unreachable, SECRET_KEY_FILE: "/nowhere/key", PROVIDER: "mock" },
        "SECRET_KEY_FILE names a file that cannot be read: /nowhere/key"
      ],
      [["serve"], { DATABASE_URL: unreachable, SECRET_KEY: secret }, "PROVIDER is required"],
      [["serve"], { DATABASE_URL: unreachable, SECRET_KEY: secret, PROVIDER: "pigeon" }, "PROVIDER must be"],
      [["worker"], { DATABASE_URL: unreachable, SECRET_KEY: secret, PROVIDER: "mock" }, "DATABASE_URL cannot be used"],
      [["migrate", "--json"], { DATABASE_URL: unreachable, DATABASE_POOL: "many" }, "DATABASE_POOL must be"]
    ] as const,
    ([args, environment, named]) =>
      Effect.map(Processes.run(args, environment), ({ code, stderr, stdout }) => {
        assert.strictEqual(code, 1, named)
        assert.include(stderr, named)
        assert.match(stderr, /^[^\n]+\n$/)
        assert.notMatch(stderr, /mysql:|swordfish|short/)
        assert.strictEqual(stdout, "")
      }),
    { concurrency: 2, discard: true }
  ))

it.live(
  "a command whose reader stops early, as `head` does, exits with 0, and LOG_LEVEL accepts `warn`",
  () =>
    Effect.gen(function*() {
      const shell = `"${process.execPath}" "${Processes.main}" openapi | head -c 10; echo "\${PIPESTATUS[0]}"`
      const piped = yield* Effect.callback<string>((resume) => {
        execFile("bash", ["-c", shell], (_, stdout, stderr) => resume(Effect.succeed(stdout + stderr)))
      })
      assert.strictEqual(piped, "{\n  \"opena0\n")
      const quiet = yield* Processes.run(["serve", "--json"], { LOG_LEVEL: "warn" })
      assert.include(JSON.parse(quiet.stderr).error.message, "DATABASE_URL is required")
    })
)

it.live("a command whose output cannot be written exits with 1 and one error", () =>
  Effect.gen(function*() {
    const full = yield* Effect.promise(() => open("/dev/full", "w"))
    const child = spawn(process.execPath, [Processes.main, "openapi"], { stdio: ["ignore", full.fd, "pipe"] })
    const exited = once(child, "exit")
    const stderr = yield* Effect.promise(() => child.stderr === null ? Promise.resolve("") : text(child.stderr))
    const [code] = yield* Effect.promise(() => exited)
    yield* Effect.promise(() => full.close())
    assert.strictEqual(
      stderr,
      "The output cannot be written (ENOSPC). Free disk space, or write it to another place.\n"
    )
    assert.strictEqual(code, 1)
  }))

it.live("serve rejects a database without its migrations", () =>
  Effect.gen(function*() {
    const environment = { DATABASE_URL: yield* Databases.empty, SECRET_KEY: secret, PROVIDER: "mock" }
    const { code, stderr } = yield* Processes.run(["serve", "--port", "0"], environment)
    assert.strictEqual(code, 1)
    assert.include(stderr, "messaging-crm migrate")
  }).pipe(Effect.scoped))

/** Creates the table in which unreleased versions counted their migrations. */
const countMigrations = (url: string) =>
  SqlClient.SqlClient.use((sql) => sql`CREATE TABLE messaging_crm_migrations (migration_id integer)`).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(url), connections: 1 }))
  )

it.live("the schema of an unreleased version prevents the startup, and the error asks for an empty database", () =>
  Effect.gen(function*() {
    const url = yield* Databases.empty
    yield* countMigrations(url)
    const environment = { DATABASE_URL: url, SECRET_KEY: secret, PROVIDER: "mock" }
    for (const args of [["migrate"], ["serve", "--port", "0"], ["serve", "--port", "0", "--migrate"]]) {
      const { code, stderr } = yield* Processes.run(args, environment)
      assert.strictEqual(code, 1)
      assert.strictEqual(
        stderr,
        "The database at DATABASE_URL cannot be used: an unreleased version created its schema. Use an empty database.\n"
      )
    }
    const data_dir = yield* folder
    const directory = join(data_dir, "postgres")
    yield* Effect.scoped(Effect.flatMap(start({ directory, durable: false }), countMigrations))
    const { code, stderr } = yield* Processes.run(["dev", "--port", "0", "--data-dir", data_dir], { LOG_LEVEL: "none" })
    assert.strictEqual(code, 1)
    assert.include(stderr, "Remove this directory to start with an empty one")
    assert.include(stderr, directory)
    assert.match(stderr, /^[^\n]+\n$/)
  }).pipe(Effect.scoped))

/** A provider that delays its response to a delivery until the test allows it. */
const slowProvider = Effect.gen(function*() {
  const called = yield* Deferred.make<void>()
  const respond = yield* Deferred.make<void>()
  const run = Effect.runForkWith(yield* Effect.context())
  const url = yield* startHttpServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ data: defaultTemplates }))
    run(Effect.gen(function*() {
      yield* Deferred.succeed(called, undefined)
      yield* Deferred.await(respond)
      response.end(JSON.stringify({ messages: [{ id: "late" }] }))
    }))
  })
  return { url, called: Deferred.await(called), respond: Deferred.succeed(respond, undefined) }
})

/** Returns the threads of a process with their names, as Linux shows them. */
const namesOfThreads = (pid: number | undefined) =>
  readdirSync(`/proc/${pid}/task`).map((thread) =>
    [Number(thread), readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8")] as const
  )

it.live(
  "on SIGTERM, serve accepts no new connection and finishes the attempt in progress",
  () =>
    Effect.gen(function*() {
      const provider = yield* slowProvider
      const port = yield* freePort
      const server: Servers.Server = { port, url: `http://127.0.0.1:${port}` }
      const shared: Processes.Environment = {
        DATABASE_URL: yield* Databases.empty,
        SECRET_KEY: secret,
        HOST: "127.0.0.1",
        LOG_LEVEL: "info"
      }
      yield* Processes.command(["migrate"], shared)
      const { channel_id, key } = yield* Organizations.create(shared)
      const environment = { ...shared, ...Network.settings(provider.url, [channel_id]) }
      const first = yield* Servers.serve(environment, server)
      const started = yield* Api.request(server, "POST", "/conversations", {
        key,
        json: Api.newConversation(channel_id, "+49 151 12345678", "Kim"),
        idempotency_key: "stopped-meanwhile"
      })
      assert.strictEqual(started.status, 202, started.text)
      yield* provider.called
      let logged = ""
      first.child.stderr.on("data", (chunk: Uint8Array) => {
        logged += chunk
      })
      first.child.kill("SIGTERM")
      const health = Effect.tryPromise(() =>
        fetch(`${server.url}/health/live`).then((response) => response.arrayBuffer())
      )
      yield* eventually(Effect.isFailure(health), (isRefused) => isRefused)
      assert.isNull(first.child.exitCode)
      yield* provider.respond
      assert.strictEqual(yield* first.exited, 0)
      assert.match(logged, /"Stopping"[^]*"Stopped"/)

      const withoutWorker = ["serve", "--no-worker", "--port", String(port)]
      const { child } = yield* Processes.startMain(withoutWorker, environment)
      yield* Processes.untilUp(`${server.url}/health/ready`)
      // The console is of `dev` alone.
      const { status } = yield* Effect.promise(() => fetch(`${server.url}/console`))
      assert.strictEqual(status, 404)
      // Workers on the same machine go first.
      const niceness = Math.max(getPriority(), 5)
      assert.strictEqual(getPriority(child.pid), niceness)
      // Then this process, and then its compilers.
      const compilers = namesOfThreads(child.pid).filter(([, name]) => name.includes("V8Worker"))
      assert.isNotEmpty(compilers)
      for (const [thread] of compilers) assert.strictEqual(getPriority(thread), Math.min(niceness + 5, 19))
      const { data } = yield* Schema.decodeUnknownEffect(Data)(started.text)
      const found = yield* Api.request(server, "GET", `/sends/${data["id"]}`, { key })
      const { data: send } = yield* Schema.decodeUnknownEffect(Data)(found.text)
      assert.strictEqual(send["status"], "sent")
    }).pipe(Effect.scoped)
)
