/** The binary, as a person runs it. */
import { assert, describe, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { catalogueOf } from "@messaging-crm/provider-mock/Catalogue"
import * as Wire from "@messaging-crm/provider-mock/http/Wire"
import { Deferred, Effect, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { start } from "../src/EmbeddedPostgres.ts"
import { freePort } from "../src/FreePort.ts"
import { answering } from "../testing/Answering.ts"
import * as Processes from "../testing/Processes.ts"

const Ready = Schema.fromJsonString(Schema.Struct({
  base_url: Schema.String,
  docs_url: Schema.String,
  database_url: Schema.NullOr(Schema.String),
  api_key: Schema.String,
  organization_id: Schema.String,
  member_id: Schema.String,
  channels: Schema.Array(Schema.Struct({ id: Schema.String, type: Schema.String })),
  template_ids: Schema.Array(Schema.String)
}))

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-server-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/** `dev --json`, once it has said that it is ready. */
const dev = Effect.fnUntraced(function*(
  data_dir: string,
  args: ReadonlyArray<string> = [],
  environment: Processes.Environment = {}
) {
  const started = yield* Processes.startMain(["dev", "--json", "--port", "0", "--data-dir", data_dir, ...args], {
    LOG_LEVEL: "none",
    ...environment
  })
  const line = yield* Effect.callback<string>((resume) => {
    const { stdout } = started.child
    if (stdout !== null) createInterface({ input: stdout }).once("line", (text) => resume(Effect.succeed(text)))
  })
  const ready = yield* Effect.orDie(Schema.decodeUnknownEffect(Ready)(line))
  const stop = Effect.andThen(Effect.sync(() => started.child.kill("SIGTERM")), started.exited)
  const server: Processes.Server = { port: 0, url: ready.base_url.replace(/\/v1$/, "") }
  return { ready, server, stop }
})

const Data = Schema.fromJsonString(Schema.Struct({ data: Schema.Record(Schema.String, Schema.Unknown) }))

const until = <E>(get: Effect.Effect<Processes.Answer, E>, field: string, value: string) =>
  get.pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Data)(text)),
    Effect.flatMap(({ data }) => data[field] === value ? Effect.succeed(data) : Effect.fail(data)),
    Effect.retry({ schedule: Schedule.spaced("30 millis"), times: 500 })
  )

/** Starts a conversation and follows it until the message is read. */
const journey = Effect.fnUntraced(function*(server: Processes.Server, ready: typeof Ready.Type) {
  const key = ready.api_key
  const channel = ready.channels.find(({ type }) => type === "phone_messaging")
  const json = {
    ...Processes.greeting(channel?.id ?? "", "+49 151 12345678", "Kim"),
    template: {
      ...Processes.greeting("", "", "Kim").template,
      id: ready.template_ids.find((id) => id.endsWith("order_ready"))
    }
  }
  const started = yield* Processes.request(server, "POST", "/conversations", {
    key,
    json,
    idempotency_key: crypto.randomUUID()
  })
  assert.strictEqual(started.status, 202, started.text)
  const { data } = yield* Schema.decodeUnknownEffect(Data)(started.text)
  const sent = yield* until(Processes.request(server, "GET", `/sends/${data["id"]}`, { key }), "status", "sent")
  const path = `/conversations/${sent["conversation_id"]}/messages/${sent["message_id"]}`
  yield* until(Processes.request(server, "GET", path, { key }), "status", "read")
  return path
})

const run = (args: ReadonlyArray<string>, environment: Processes.Environment) =>
  Effect.callback<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>((resume) => {
    const child = spawn(process.execPath, [Processes.main, ...args], {
      env: { PATH: process.env["PATH"] ?? "", ...environment },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    child.once("close", (code) => resume(Effect.succeed({ code, stdout, stderr })))
  })

describe("dev", () => {
  it.live(
    "answers from memory, polls a send until it is read, and exits with 0 on SIGTERM",
    () =>
      Effect.gen(function*() {
        const { ready, server, stop } = yield* dev(yield* folder, ["--storage", "memory"])
        assert.isNull(ready.database_url)
        yield* journey(server, ready)
        const docs = yield* Effect.promise(() => fetch(ready.docs_url))
        assert.strictEqual(docs.status, 200)
        const home = yield* Effect.promise(() => fetch(`${server.url}/`, { redirect: "manual" }))
        assert.deepStrictEqual([home.status, home.headers.get("location")], [302, "/console"])
        const page = yield* Processes.request(server, "GET", "/contacts?page_size=50", { key: ready.api_key })
        assert.deepStrictEqual(
          [page.headers.get("content-encoding"), page.headers.get("vary")],
          ["gzip", "Accept-Encoding"]
        )
        const short = yield* Processes.request(server, "GET", "/tags", { key: ready.api_key })
        assert.isNull(short.headers.get("content-encoding"))
        // The provider is in this process, so nobody calls back.
        const ingress = yield* Effect.promise(() => fetch(`${server.url}/ingress/mock`, { method: "POST" }))
        assert.strictEqual(ingress.status, 404)
        assert.strictEqual(yield* stop, 0)
      }).pipe(Effect.scoped)
  )

  it.live("has what the forms of its docs page name", () =>
    Effect.gen(function*() {
      const { ready, server } = yield* dev(yield* folder, ["--storage", "memory"])
      const page = yield* Effect.promise(async () => (await fetch(ready.docs_url)).text())
      // The examples of the page work in the demo: no cursor, and a tag that does not exist yet.
      assert.notMatch(page, /"name":"cursor"[^}]*"example":"[^"]/)
      const tag = yield* Processes.request(server, "POST", "/tags", {
        key: ready.api_key,
        json: { name: "VIP", color: "amber" },
        idempotency_key: "the-example"
      })
      assert.strictEqual(tag.status, 200, tag.text)
      for (const path of ["/contacts/{contact_id}", "/conversations/{conversation_id}/messages/{message_id}"]) {
        const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
          const value = new RegExp(`"name":"${name}"[^{}]*?"example":"([^"]+)"|"name":"${name}".*?"value":"([^"]+)"`)
            .exec(page)
          return value?.[1] ?? value?.[2] ?? "missing"
        })
        assert.strictEqual(
          (yield* Processes.request(server, "GET", filled, { key: ready.api_key })).status,
          200,
          filled
        )
      }
      const known = [ready.member_id, ...ready.channels.slice(0, 1).map(({ id }) => id), ready.template_ids[0] ?? ""]
      for (const id of known) assert.include(page, id)
    }).pipe(Effect.scoped))

  it.live(
    "shows its metrics on a port of their own, where one is set, and nothing else there",
    () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const { server } = yield* dev(yield* folder, ["--storage", "memory"], { METRICS_PORT: String(port) })
        const ask = (url: string) => Effect.promise(() => fetch(url))
        const metrics = yield* ask(`http://127.0.0.1:${port}/metrics`)
        assert.strictEqual(metrics.status, 200)
        assert.include(yield* Effect.promise(() => metrics.text()), "messaging_crm_work_items")
        const elsewhere = yield* ask(`http://127.0.0.1:${port}/v1/tags`)
        assert.strictEqual(elsewhere.status, 404)
        assert.isNotNull(elsewhere.headers.get("x-request-id"))
        assert.strictEqual((yield* ask(`${server.url}/metrics`)).status, 404)
        assert.strictEqual((yield* ask(`${server.url}/health/live`)).status, 200)
      }).pipe(Effect.scoped)
  )

  it.live("keeps its data and its key on PostgreSQL, where the admin commands work too", () =>
    Effect.gen(function*() {
      const directory = yield* folder
      const first = yield* dev(directory)
      const path = yield* journey(first.server, first.ready)
      assert.strictEqual(yield* first.stop, 0)
      const second = yield* dev(directory)
      assert.strictEqual(second.ready.api_key, first.ready.api_key)
      const kept = yield* Processes.request(second.server, "GET", path, { key: second.ready.api_key })
      assert.strictEqual(kept.status, 200)
      const webhook = yield* Processes.request(second.server, "POST", "/webhooks", {
        key: second.ready.api_key,
        json: { url: "https://shop.example/crm", event_types: ["message.sent"] },
        idempotency_key: "a-webhook"
      })

      const environment = { DATABASE_URL: second.ready.database_url ?? "" }
      const of = ["--organization", second.ready.organization_id]
      const keys = yield* Processes.command(["keys", "list", ...of], environment)
      // Each start of the console leaves a revoked key.
      const listed = (keys as ReadonlyArray<{ readonly id: string; readonly name: string }>).find(({ name }) =>
        name === "demo"
      )
      yield* Processes.command(["keys", "revoke", ...of, "--key-id", listed?.id ?? ""], environment)
      const revoked = yield* Processes.request(second.server, "GET", "/tags", { key: second.ready.api_key })
      assert.strictEqual(revoked.status, 401)
      const members = yield* Processes.command(["members", "list", ...of], environment)
      const simple = (members as ReadonlyArray<{ readonly id: string; readonly role: string }>).find(({ role }) =>
        role === "member"
      )
      const refused = yield* run(
        [
          "keys",
          "create",
          ...of,
          "--member",
          simple?.id ?? "",
          "--name",
          "x",
          "--expires",
          "90d",
          "--scope",
          "tags:read"
        ],
        environment
      )
      assert.deepStrictEqual(refused, {
        code: 1,
        stdout: "",
        stderr: "Only owners and admins can hold keys. Choose another --member.\n"
      })
      const nobody = ["--organization", "00000000-0000-4000-8000-000000000001"]
      const unknown = yield* run(["keys", "list", ...nobody, "--json"], environment)
      const message = "No organization has this ID. Find the ID with: messaging-crm organizations list."
      assert.deepStrictEqual(unknown, { code: 1, stdout: "", stderr: `${JSON.stringify({ error: { message } })}\n` })
      const { data: subscribed } = yield* Schema.decodeUnknownEffect(Data)(webhook.text)
      const idsOf = (listed: unknown) =>
        (listed as ReadonlyArray<{ readonly id: string; readonly status: string }>)
          .map(({ id, status }) => `${id} ${status}`)
      assert.deepStrictEqual(idsOf(yield* Processes.command(["webhooks", "list", ...of], environment)), [
        `${subscribed["id"]} active`
      ])
      yield* Processes.command(["webhooks", "disable", ...of, "--webhook", String(subscribed["id"])], environment)
      assert.deepStrictEqual(idsOf(yield* Processes.command(["webhooks", "list", ...of], environment)), [
        `${subscribed["id"]} disabled`
      ])
      const organizations = yield* Processes.command(["organizations", "list"], environment)
      assert.deepStrictEqual(
        (organizations as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id),
        [second.ready.organization_id]
      )
      const owners = (members as ReadonlyArray<{ readonly id: string; readonly role: string }>).filter(({ role }) =>
        role === "owner"
      )
      assert.lengthOf(owners, 1)
      const last = ["--member", owners[0]?.id ?? ""]
      for (const command of [["remove", ...of, ...last], ["set-role", ...of, ...last, "--role", "admin"]]) {
        const kept = yield* run(["members", ...command], environment)
        assert.strictEqual(kept.code, 1)
        assert.include(kept.stderr, "must have an owner")
      }
      assert.strictEqual(yield* second.stop, 0)
    }).pipe(Effect.scoped))
})

const unreachable = "postgres://postgres:swordfish@127.0.0.1:1/postgres"
const secret = Buffer.alloc(32).toString("base64")
const inMemory = ["dev", "--storage", "memory", "--port", "0"]

it.live("a wrong setting stops the start, with one line that contains its name", () =>
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
      [inMemory, { PROVIDER_URL: "127.0.0.1:4010" }, "PROVIDER_URL must be"],
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
      [["mock-provider", "--callback-url", "http://127.0.0.1:1"], {}, "SECRET_KEY is required"],
      [["migrate", "--json"], { DATABASE_URL: unreachable, DATABASE_POOL: "many" }, "DATABASE_POOL must be"]
    ] as const,
    ([args, environment, named]) =>
      Effect.map(run(args, environment), ({ code, stderr, stdout }) => {
        assert.strictEqual(code, 1, named)
        assert.include(stderr, named)
        assert.match(stderr, /^[^\n]+\n$/)
        assert.notMatch(stderr, /mysql:|swordfish|short/)
        assert.strictEqual(stdout, "")
      }),
    { concurrency: 2, discard: true }
  ))

it.live(
  "a reader who stops, as `head` does, is no failure, and the log may be as quiet as it is called elsewhere",
  () =>
    Effect.gen(function*() {
      const shell = `"${process.execPath}" "${Processes.main}" openapi | head -c 10; echo "\${PIPESTATUS[0]}"`
      const piped = yield* Effect.callback<string>((resume) => {
        execFile("bash", ["-c", shell], (_, stdout, stderr) => resume(Effect.succeed(stdout + stderr)))
      })
      assert.strictEqual(piped, "{\n  \"opena0\n")
      const quiet = yield* run(["serve", "--json"], { LOG_LEVEL: "warn" })
      assert.include(JSON.parse(quiet.stderr).error.message, "DATABASE_URL is required")
    })
)

it.live("serve refuses a database that is behind", () =>
  Effect.gen(function*() {
    const environment = { DATABASE_URL: yield* Processes.database, SECRET_KEY: secret, PROVIDER: "mock" }
    const { code, stderr } = yield* run(["serve", "--port", "0"], environment)
    assert.strictEqual(code, 1)
    assert.include(stderr, "messaging-crm migrate")
  }).pipe(Effect.scoped))

/** Creates the table in which unreleased versions counted their migrations. */
const countMigrations = (url: string) =>
  SqlClient.SqlClient.use((sql) => sql`CREATE TABLE messaging_crm_migrations (migration_id integer)`).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(url), connections: 1 }))
  )

it.live("every start on the database of an unreleased version says to use an empty one", () =>
  Effect.gen(function*() {
    const url = yield* Processes.database
    yield* countMigrations(url)
    const environment = { DATABASE_URL: url, SECRET_KEY: secret, PROVIDER: "mock" }
    for (const args of [["migrate"], ["serve", "--port", "0"], ["serve", "--port", "0", "--migrate"]]) {
      const { code, stderr } = yield* run(args, environment)
      assert.strictEqual(code, 1)
      assert.strictEqual(
        stderr,
        "The database at DATABASE_URL cannot be used: an unreleased version created its schema. Use an empty database.\n"
      )
    }
    const data_dir = yield* folder
    const directory = join(data_dir, "postgres")
    yield* Effect.scoped(Effect.flatMap(start({ directory, durable: false }), countMigrations))
    const { code, stderr } = yield* run(["dev", "--port", "0", "--data-dir", data_dir], { LOG_LEVEL: "none" })
    assert.strictEqual(code, 1)
    assert.include(stderr, "Remove this directory to start with an empty one")
    assert.include(stderr, directory)
    assert.match(stderr, /^[^\n]+\n$/)
  }).pipe(Effect.scoped), 60_000)

/** A provider that holds its answer to a delivery until the test allows it. */
const slowProvider = Effect.gen(function*() {
  const called = yield* Deferred.make<void>()
  const answer = yield* Deferred.make<void>()
  const run = Effect.runForkWith(yield* Effect.context())
  const templates = yield* Schema.encodeEffect(Schema.fromJsonString(Wire.TemplatesAnswer))({
    templates: catalogueOf("acme")
  })
  const url = yield* answering((request, response) => {
    if (request.url?.startsWith("/templates/")) return void response.end(templates)
    run(Effect.gen(function*() {
      yield* Deferred.succeed(called, undefined)
      yield* Deferred.await(answer)
      response.end(JSON.stringify({ provider_message_id: "late" }))
    }))
  })
  return { url, called: Deferred.await(called), answer: Deferred.succeed(answer, undefined) }
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
      const server: Processes.Server = { port, url: `http://127.0.0.1:${port}` }
      const environment: Processes.Environment = {
        DATABASE_URL: yield* Processes.database,
        SECRET_KEY: secret,
        PROVIDER: "mock",
        PROVIDER_URL: provider.url,
        HOST: "127.0.0.1"
      }
      yield* Processes.command(["migrate"], environment)
      const { channel_id, key } = yield* Processes.organization(environment)
      const first = yield* Processes.serve(environment, server)
      const started = yield* Processes.request(server, "POST", "/conversations", {
        key,
        json: Processes.greeting(channel_id, "+49 151 12345678", "Kim"),
        idempotency_key: "stopped-meanwhile"
      })
      assert.strictEqual(started.status, 202, started.text)
      yield* provider.called
      first.child.kill("SIGTERM")
      yield* Effect.tryPromise(() => fetch(`${server.url}/health/live`).then((response) => response.arrayBuffer()))
        .pipe(
          Effect.flip,
          Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 500 })
        )
      assert.isNull(first.child.exitCode)
      yield* provider.answer
      assert.strictEqual(yield* first.exited, 0)

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
      const found = yield* Processes.request(server, "GET", `/sends/${data["id"]}`, { key })
      const { data: send } = yield* Schema.decodeUnknownEffect(Data)(found.text)
      assert.strictEqual(send["status"], "sent")
    }).pipe(Effect.scoped)
)

it.live("dev greets, logs a line for each request, and says when it stops", () =>
  Effect.gen(function*() {
    const directory = yield* folder
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(
          process.execPath,
          [Processes.main, "dev", "--storage", "memory", "--port", "0", "--data-dir", directory],
          {
            env: { PATH: process.env["PATH"] ?? "", LOG_FORMAT: "pretty" },
            stdio: ["ignore", "pipe", "pipe"]
          }
        )
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const said = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.stdout += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.stderr += text)
    yield* Effect.repeat(Effect.sync(() => said.stdout), {
      schedule: Schedule.spaced("30 millis"),
      until: (text) => text.includes("webhooks listen")
    })
    for (const name of ["API", "Docs", "Console", "Database", "API key", "Organization"]) {
      assert.match(said.stdout, new RegExp(`^  ${name} +\\S`, "m"))
    }
    const commands = said.stdout.split("another terminal:")[1]?.split("\n").filter((line) => /^  \w/.test(line)) ?? []
    assert.deepStrictEqual(commands.map((line) => line.trim().split(" ")[0]), ["source", "curl", "curl", "npx"])
    // The first command, as it is pasted.
    const pasted = [commands[0], commands[1]].join("\n")
    const listed = yield* Effect.promise(() => promisify(execFile)("bash", ["-c", pasted]))
    assert.include(listed.stdout, "\"next_cursor\"")
    yield* Effect.repeat(Effect.sync(() => said.stderr), {
      schedule: Schedule.spaced("30 millis"),
      until: (text) => text.includes("/v1/contacts")
    })
    child.kill("SIGINT")
    yield* Effect.callback<void>((resume) => void child.once("close", () => resume(Effect.void)))
    const lines = said.stderr.trimEnd().split("\n")
    assert.match(lines[0] ?? "", /^[0-9:.]{12} GET \/v1\/contacts 200 \d+ ms$/)
    assert.deepStrictEqual(lines.slice(1).map((line) => line.split(/[:.]/)[0]), ["Stopping", "Stopped"])
  }).pipe(Effect.scoped), 60_000)
