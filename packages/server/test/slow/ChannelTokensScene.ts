/** A cluster over the fake Graph API whose environment has an app, but no token of a channel. */
import { assert } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const Account = Schema.Struct({ token: Schema.String, phone_number_id: Schema.String, app_id: Schema.String })
export const Setting = Schema.fromJsonString(
  Schema.Struct({ apps: Schema.Array(Schema.Unknown), channels: Schema.NonEmptyArray(Account) })
)
const Send = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({
    id: Schema.String,
    status: Schema.String,
    failure_reason: Schema.NullOr(Schema.String)
  })
}))
const States = Schema.fromJsonString(Schema.Array(Schema.Struct({
  state: Schema.String,
  reason: Schema.NullOr(Schema.String)
})))
const Rejection = Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))
const Health = Schema.fromJsonString(Schema.Struct({
  status: Schema.String,
  paused_channels: Schema.optionalKey(Schema.Int)
}))

export const decode = <A, I>(schema: Schema.Codec<A, I>, text: string) =>
  Effect.orDie(Schema.decodeUnknownEffect(schema)(text))

const textAt = (url: string) => Effect.promise(async () => (await fetch(url)).text())

/** Makes the network reject the token with the next message. */
const rejectNext = (network_url: string) =>
  Effect.promise(async () => {
    const behavior = { responses: [{ response: "reject", code: 190, status: 401 }], statuses: ["sent"], reply: null }
    const body = JSON.stringify({ next_calls: 1, behavior })
    const headers = { "content-type": "application/json" }
    await (await fetch(`${network_url}/fake/script`, { method: "POST", headers, body })).arrayBuffer()
  })

/** Reads the stored accounts. */
export const stored = (database_url: string) =>
  SqlClient.SqlClient.use((sql) => sql`SELECT a::text FROM channel_accounts a`).pipe(
    Effect.map((rows) => JSON.stringify(rows)),
    Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 }))
  )

const often = { schedule: Schedule.spaced("100 millis"), times: 600 }

/** Starts the cluster without a server. `run` runs a command about the organization's channels. */
export const begin = Effect.gen(function*() {
  const { acme, database_url, environment: given, network_url, servers: [server] } = yield* Cluster.make({
    servers: 1,
    environment: {}
  })
  if (server === undefined) return assert.fail("there is no server")
  const setting = yield* decode(Setting, given["CLOUD_ACCOUNTS"] ?? "")
  const [{ app_id, phone_number_id, token }] = setting.channels
  const environment: Processes.Environment = { ...given, CLOUD_ACCOUNTS: JSON.stringify({ apps: setting.apps }) }
  const outputs: Array<string> = []
  const run = (args: ReadonlyArray<string>, stdin = "", env = environment) =>
    Processes.run(["channels", ...args, "--organization", acme.organization_id, "--json"], env, stdin).pipe(
      Effect.tap(({ stderr, stdout }) => Effect.sync(() => outputs.push(stdout, stderr)))
    )
  return {
    acme,
    app_id,
    environment,
    network_url,
    run,
    server,
    token,
    setToken: ["set-token", "--channel", acme.channel_id, "--token-file", "-"],
    names: ["--account", phone_number_id, "--app", app_id],
    /** Runs a command that fails, and returns its message. */
    rejected: (args: ReadonlyArray<string>, stdin = "", env = environment) =>
      Effect.flatMap(run(args, stdin, env), ({ code, stderr }) => {
        assert.strictEqual(code, 1)
        return Effect.map(decode(Rejection, stderr.trim().split("\n").at(-1) ?? ""), ({ error }) => error.message)
      }),
    states: Effect.flatMap(run(["list"]), ({ stdout }) => decode(States, stdout)),
    /** Asserts that no output and no stored account contains a token in plain text. */
    assertHidden: Effect.gen(function*() {
      assert.notInclude(outputs.join("\n"), token)
      assert.notInclude(outputs.join("\n"), "swordfish")
      assert.notInclude(yield* stored(database_url), token)
    })
  }
})

/** Starts the cluster with a stored token and a server. */
export const beginWithToken = Effect.gen(function*() {
  const scene = yield* begin
  const { acme, environment, names, network_url, run, server, setToken, token } = scene
  assert.strictEqual((yield* run([...setToken, ...names], token)).code, 0)
  yield* Servers.serve(environment, server)
  const read = (id: string) =>
    Api.request(server, "GET", `/sends/${id}`, { key: acme.key }).pipe(
      Effect.flatMap(({ text }) => decode(Send, text)),
      Effect.map(({ data }) => data.failure_reason ?? data.status)
    )
  return {
    ...scene,
    /** Starts a conversation, and returns the ID of the send. */
    start: (phone: string) =>
      Api.request(server, "POST", "/conversations", {
        key: acme.key,
        json: Api.newConversation(acme.channel_id, phone, "Kim"),
        idempotency_key: `start-${phone}`
      }).pipe(Effect.flatMap(({ text }) => decode(Send, text)), Effect.map(({ data }) => data.id)),
    /** Returns the status of a send, or why it failed. */
    read,
    until: (id: string, wanted: string) =>
      Effect.map(
        Effect.repeat(read(id), { ...often, until: (state) => state === wanted }),
        (state) => assert.strictEqual(state, wanted)
      ),
    health: Effect.flatMap(textAt(`${server.url}/health/ready`), (text) => decode(Health, text)),
    metrics: textAt(`${server.url}/metrics`),
    rejectNext: rejectNext(network_url)
  }
})
