/** The binary, as a person runs it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
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
const dev = Effect.fnUntraced(function*(data_dir: string, ...args: ReadonlyArray<string>) {
  const started = yield* Processes.start(
    Processes.main,
    ["dev", "--json", "--port", "0", "--data-dir", data_dir, ...args],
    { LOG_LEVEL: "none" }
  )
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
  Effect.callback<{ readonly code: number | null; readonly stderr: string }>((resume) => {
    const child = spawn(process.execPath, [Processes.main, ...args], {
      env: { PATH: process.env["PATH"] ?? "", ...environment },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let stderr = ""
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    child.once("close", (code) => resume(Effect.succeed({ code, stderr })))
  })

describe("dev", () => {
  it.live(
    "answers from memory, follows a send until it is read, and ends with 0 when told to stop",
    () =>
      Effect.gen(function*() {
        const { ready, server, stop } = yield* dev(yield* folder, "--storage", "memory")
        assert.isNull(ready.database_url)
        yield* journey(server, ready)
        const docs = yield* Effect.promise(() => fetch(ready.docs_url))
        assert.strictEqual(docs.status, 200)
        assert.strictEqual(yield* stop, 0)
      }).pipe(Effect.scoped),
    60_000
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

      const environment = { DATABASE_URL: second.ready.database_url ?? "" }
      const of = ["--organization", second.ready.organization_id]
      const keys = yield* Processes.command(["keys", "list", ...of], environment)
      assert.lengthOf(keys as ReadonlyArray<unknown>, 1)
      const [listed] = keys as ReadonlyArray<{ readonly id: string }>
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
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "Only owners and admins may hold keys.")
      assert.strictEqual(yield* second.stop, 0)
    }).pipe(Effect.scoped), 60_000)
})

it.live("a wrong setting stops the start, with a message that names it", () =>
  Effect.gen(function*() {
    const database = "postgres://postgres@127.0.0.1:1/postgres"
    const secret = Buffer.alloc(32).toString("base64")
    for (
      const [args, environment, named] of [
        [["dev"], { PORT: "http" }, "PORT must be"],
        [["dev", "--port", "70000"], {}, "PORT must be"],
        [
          ["dev", "--storage", "memory", "--port", "0"],
          { RATE_LIMIT_PER_MINUTE: "0" },
          "RATE_LIMIT_PER_MINUTE must be"
        ],
        [["dev", "--storage", "memory", "--port", "0"], { SECRET_KEY: "short" }, "SECRET_KEY must be"],
        [["dev", "--storage", "memory", "--port", "0"], { LOG_LEVEL: "loud" }, "LOG_LEVEL must be"],
        [["serve"], {}, "DATABASE_URL is required"],
        [["serve"], { DATABASE_URL: "mysql://x" }, "DATABASE_URL must be"],
        [["serve"], { DATABASE_URL: database }, "SECRET_KEY is required"],
        [["serve"], { DATABASE_URL: database, SECRET_KEY: secret }, "PROVIDER is required"],
        [["serve"], { DATABASE_URL: database, SECRET_KEY: secret, PROVIDER: "pigeon" }, "PROVIDER must be"]
      ] as const
    ) {
      const { code, stderr } = yield* run(args, environment)
      assert.strictEqual(code, 1, named)
      assert.include(stderr, named)
      assert.notInclude(stderr, "mysql://x")
    }
  }), 120_000)

it.live("serve refuses a database that is behind", () =>
  Effect.gen(function*() {
    const environment = {
      DATABASE_URL: yield* Processes.database,
      SECRET_KEY: Buffer.alloc(32).toString("base64"),
      PROVIDER: "mock"
    }
    const { code, stderr } = yield* run(["serve", "--port", "0"], environment)
    assert.strictEqual(code, 1)
    assert.include(stderr, "messaging-crm migrate")
  }).pipe(Effect.scoped), 60_000)
