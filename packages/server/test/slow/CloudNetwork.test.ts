/** The service over the Graph API, as processes: what it sends is delivered, and what it is told is never lost. */
import { assert, it } from "@effect/vitest"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect, Schema } from "effect"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const Send = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ conversation_id: Schema.String }) }))
const Messages = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ direction: Schema.String, status: Schema.String, text: Schema.String }))
  })
)
const Checks = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: Schema.String, account: Schema.String })))

/** Lets a person write on the network. */
const write = (network_url: string, account: string, text: string) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ object: "whatsapp_business_account", account, from: "4915112345678", text })
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${network_url}/fake/write`, { method: "POST", headers, body })
    await response.arrayBuffer()
  })

it.live(
  "a template is sent and read, an inbound message is stored, a text is sent and read, and the account is checked",
  () =>
    Effect.gen(function*() {
      const { acme, environment, network_url, servers: [server] } = yield* Cluster.make({
        servers: 1,
        environment: {}
      })
      if (server === undefined) return assert.fail("there is no server")
      yield* Servers.serve(environment, server)
      const json = Api.newConversation(acme.channel_id, "+4915112345678", "Kim")
      const post = (path: string, body: unknown, idempotency_key: string) =>
        Api.request(server, "POST", path, { key: acme.key, json: body, idempotency_key })
      const started = yield* post("/conversations", json, "cloud-start")
      assert.strictEqual(started.status, 202, started.text)
      const { data: { conversation_id } } = yield* Schema.decodeUnknownEffect(Send)(started.text)
      const path = `/conversations/${conversation_id}/messages`

      /** Reads the conversation until it is as wanted, the newest message first. */
      const until = (wanted: ReadonlyArray<string>) =>
        eventually(
          Api.request(server, "GET", path, { key: acme.key }).pipe(
            Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Messages)(text)),
            Effect.map(({ data }) => data.map(({ direction, status }) => `${direction} ${status}`))
          ),
          (found) => String(found) === String(wanted)
        )

      yield* until(["outbound read"])
      yield* write(network_url, acme.channel_id, "Thanks! \u{1f600}")
      yield* until(["inbound received", "outbound read"])
      assert.strictEqual((yield* post(path, { type: "text", text: "Welcome" }, "cloud-reply")).status, 202)
      yield* until(["outbound read", "inbound received", "outbound read"])

      const check = ["channels", "check", "--organization", acme.organization_id, "--json"]
      const good = yield* Processes.run(check, environment)
      assert.strictEqual(good.code, 0, good.stderr)
      const checked = yield* Schema.decodeUnknownEffect(Checks)(good.stdout)
      assert.deepStrictEqual(checked, [{ id: acme.channel_id, account: "ok" }])
      const accounts = environment["CLOUD_ACCOUNTS"] ?? ""
      const broken = { ...environment, CLOUD_ACCOUNTS: accounts.replace("the-token-of-the-channel", "an old token") }
      const bad = yield* Processes.run(check, broken)
      assert.strictEqual(bad.code, 1)
      assert.include(bad.stdout, "provider_auth")
      assert.notInclude(bad.stdout + bad.stderr, "old token")
    }).pipe(Effect.scoped)
)

it.live("invalid accounts prevent the startup, and the error does not show them", () =>
  Effect.gen(function*() {
    const url = yield* Databases.empty
    const SECRET_KEY = Buffer.alloc(32, "a").toString("base64")
    const given = { DATABASE_URL: url, SECRET_KEY, PROVIDER: "cloud", HOST: "127.0.0.1", PORT: "0" }
    yield* Processes.command(["migrate"], given)
    const absent = yield* Processes.run(["serve"], given)
    assert.strictEqual(absent.code, 1)
    assert.include(absent.stderr, "CLOUD_ACCOUNTS is required")
    const unreadable = yield* Processes.run(["serve"], { ...given, CLOUD_ACCOUNTS: "{\"apps\":\"swordfish\"}" })
    assert.strictEqual(unreadable.code, 1)
    assert.match(unreadable.stderr, /^CLOUD_ACCOUNTS must be JSON[^\n]+\n$/)
    assert.notInclude(unreadable.stderr, "swordfish")
  }).pipe(Effect.scoped))
