/** The commands of a first setup: `init`, `doctor`, and starts with an unsuitable database. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { createServer } from "node:net"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { freePort } from "../../src/dev/FreePort.ts"
import { folder } from "../../testing/Folder.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const secret = (name: string) => Buffer.alloc(32, name).toString("base64")

const Findings = Schema.fromJsonString(
  Schema.Array(
    Schema.Struct({
      name: Schema.String,
      state: Schema.String,
      detail: Schema.String,
      advice: Schema.NullOr(Schema.String)
    })
  )
)

const Made = Schema.fromJsonString(Schema.Struct({
  api_key: Schema.String,
  channel_id: Schema.String,
  key_id: Schema.String,
  member_id: Schema.String,
  organization_id: Schema.String
}))

const doctor = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const { code, stdout } = yield* Processes.run(["doctor", "--json"], environment)
  return { code, findings: yield* Schema.decodeUnknownEffect(Findings)(stdout) }
})

it.live(
  "init makes an organization that works, and doctor says what is wrong and what to do",
  () =>
    Effect.gen(function*() {
      const nothing = yield* doctor({})
      assert.strictEqual(nothing.code, 1)
      assert.deepStrictEqual(nothing.findings.map(({ name, state }) => `${name} ${state}`), ["Settings failed"])

      const port = yield* freePort
      const server: Servers.Server = { port, url: `http://127.0.0.1:${port}` }
      const environment = {
        DATABASE_URL: yield* Databases.empty,
        SECRET_KEY: secret("right"),
        PROVIDER: "mock",
        HOST: "127.0.0.1",
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
      }
      const behind = yield* doctor(environment)
      assert.deepStrictEqual(
        behind.findings.map(({ name, state }) => `${name} ${state}`),
        ["Settings ok", "Database ok", "Schema failed"]
      )
      assert.include(behind.findings[2]?.advice, "messaging-crm migrate")

      yield* Processes.command(["migrate"], environment)
      const owner = ["--name", "Acme", "--owner-name", "Ada", "--owner-email", "ada@acme.example"]
      const wrong = yield* Processes.run(["init", ...owner, "--type", "phone_messaging"], environment)
      assert.include(wrong.stderr, "requires --business-account")
      const { code, stdout } = yield* Processes.run(["init", ...owner, "--json"], environment)
      assert.strictEqual(code, 0)
      const made = yield* Schema.decodeUnknownEffect(Made)(stdout)
      yield* Servers.serve(environment, server)
      const channels = yield* Api.request(server, "GET", "/channels", { key: made.api_key })
      assert.include(channels.text, made.channel_id)

      const healthy = yield* doctor(environment)
      assert.deepStrictEqual(
        healthy.findings.map(({ name, state }) => `${name} ${state}`),
        ["Settings", "Database", "Schema", "Secret key", "Clock", "Channels", "Webhooks"].map((name) => `${name} ok`)
      )
      assert.strictEqual(healthy.code, 0)

      const url = `http://127.0.0.1:${yield* freePort}/hooks`
      const subscribed = yield* Api.request(server, "POST", "/webhooks", {
        key: made.api_key,
        json: { url: `${url}?token=abc`, event_types: ["message.sent"] },
        idempotency_key: "nobody-listens"
      })
      assert.strictEqual(subscribed.status, 200, subscribed.text)
      const sick = yield* doctor({ ...environment, SECRET_KEY: secret("wrong") })
      assert.strictEqual(sick.code, 1)
      const of = (name: string) => sick.findings.find((finding) => finding.name === name)
      assert.strictEqual(of("Secret key")?.state, "failed")
      assert.strictEqual(of("Webhooks")?.state, "warning")
      assert.include(of("Webhooks")?.detail, `(${url}): connection_refused`)
    }).pipe(Effect.scoped),
  180_000
)

it.live(
  "doctor requires the accounts of the Graph API, as a start does, and says where they cannot be read",
  () =>
    Effect.gen(function*() {
      const environment = { DATABASE_URL: yield* Databases.empty, SECRET_KEY: secret("right"), PROVIDER: "cloud" }
      yield* Processes.command(["migrate"], environment)
      for (const [accounts, detail] of [["", "CLOUD_ACCOUNTS is required"], ["{", "must be JSON"]] as const) {
        const { code, findings } = yield* doctor({ ...environment, CLOUD_ACCOUNTS: accounts })
        assert.strictEqual(code, 1)
        assert.deepStrictEqual(findings.map(({ name, state }) => `${name} ${state}`), ["Settings failed"])
        assert.include(findings[0]?.detail, detail)
      }
      const unused = yield* doctor({ ...environment, PROVIDER: "mock", CLOUD_ACCOUNTS: "" })
      assert.deepStrictEqual(unused.findings.filter(({ state }) => state === "failed"), [])
    }).pipe(Effect.scoped),
  60_000
)

/** Runs statements on a database. */
const statements = (database_url: string, texts: ReadonlyArray<string>) =>
  SqlClient.SqlClient.use((sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true })).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 }))
  )

it.live("doctor writes nothing, not even in a database without a canary", () =>
  Effect.gen(function*() {
    const environment = { DATABASE_URL: yield* Databases.empty, SECRET_KEY: secret("right"), PROVIDER: "mock" }
    yield* Processes.command(["migrate"], environment)
    const owner = ["--name", "Acme", "--owner-name", "Ada", "--owner-email", "ada@acme.example"]
    yield* Processes.command(["init", ...owner], environment)
    yield* statements(environment.DATABASE_URL, [
      `CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a write'; END $$`,
      `DO $$ DECLARE t text; BEGIN
        FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
          EXECUTE format(
            'CREATE TRIGGER reject BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION reject()', t
          );
        END LOOP;
      END $$`
    ])
    const { code, findings } = yield* doctor(environment)
    assert.strictEqual(code, 0)
    assert.deepInclude(findings.find(({ name }) => name === "Secret key"), { state: "ok" })
  }).pipe(Effect.scoped))

it.live("doctor names the reason why the database cannot be used, and the next step", () =>
  Effect.gen(function*() {
    const environment = { DATABASE_URL: yield* Databases.empty, SECRET_KEY: secret("right"), PROVIDER: "mock" }
    const absent = yield* doctor({ ...environment, DATABASE_URL: `${environment.DATABASE_URL}_absent` })
    assert.strictEqual(absent.code, 1)
    assert.match(absent.findings[0]?.detail ?? "", /^database "\w+_absent" does not exist$/)
    assert.include(absent.findings[0]?.advice, "DATABASE_URL")

    yield* Processes.command(["migrate"], environment)
    for (
      const [statement, detail, advice] of [
        [
          "INSERT INTO messaging_crm_schema VALUES ('tables/9999_later@99.1.0.sql', 'x', '99.2.0', now())",
          "a newer version changed it",
          "Use version 99.1.0 or later."
        ],
        ["CREATE TABLE messaging_crm_migrations ()", "an unreleased version created it", "Use an empty database."]
      ] as const
    ) {
      yield* statements(environment.DATABASE_URL, [statement])
      const { code, findings } = yield* doctor(environment)
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(findings.at(-1), { name: "Schema", state: "failed", detail, advice })
    }
  }).pipe(Effect.scoped))

/** A server that rejects each session as PostgreSQL 15 does. */
const postgres15 = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const fields = ["SFATAL", "VFATAL", "C42704", "Munrecognized configuration parameter \"transaction_timeout\""]
    const body = Buffer.from(`${fields.map((field) => `${field}\0`).join("")}\0`)
    const size = Buffer.alloc(4)
    size.writeInt32BE(body.length + 4)
    const server = createServer((socket) => {
      socket.on("error", () => {})
      socket.once("data", () => socket.end(Buffer.concat([Buffer.from("E"), size, body])))
    }).listen(0, "127.0.0.1", () => {
      const at = server.address()
      const port = typeof at === "object" && at !== null ? at.port : 0
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

it.live("an old PostgreSQL is named with the version that is needed", () =>
  Effect.gen(function*() {
    const { port } = yield* postgres15
    const { code, stderr } = yield* Processes.run(["migrate"], {
      DATABASE_URL: `postgres://crm:crm@127.0.0.1:${port}/crm`
    })
    assert.strictEqual(code, 1)
    assert.include(stderr, "PostgreSQL version before 17. Use PostgreSQL 17 or later")
    assert.notInclude(stderr, "transaction_timeout")
  }).pipe(Effect.scoped))

it.live("the embedded PostgreSQL keeps its port", () =>
  Effect.gen(function*() {
    const directory = yield* folder
    const first = yield* Effect.scoped(start({ directory }))
    assert.strictEqual(yield* Effect.scoped(start({ directory })), first)
  }).pipe(Effect.scoped))
