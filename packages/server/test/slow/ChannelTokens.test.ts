/** Tokens of channels in the database, from the command line to the network: set, broken, replaced, and shown nowhere. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { begin, beginWithToken, decode, Setting, stored } from "./ChannelTokensScene.ts"

it.live("a token is stored if the network accepts it or cannot be reached, and shown nowhere", () =>
  Effect.gen(function*() {
    const { app_id, assertHidden, environment, names, rejected, run, setToken, token } = yield* begin
    assert.include(yield* rejected(setToken, token), "Add --account and --app")
    assert.include(
      yield* rejected([...setToken, "--app", app_id], token),
      "--account is missing. Set --account and --app together."
    )
    assert.include(yield* rejected([...setToken, ...names], "an old token"), "visible ASCII")
    assert.include(
      yield* rejected([...setToken, ...names], "swordfish"),
      "The network rejected this account (provider_auth)"
    )
    const { SECRET_KEY: _, ...keyless } = environment
    assert.include(yield* rejected([...setToken, ...names], token, keyless), "SECRET_KEY is required")
    const elsewhere = { ...environment, GRAPH_URL: "http://127.0.0.1:9" }
    const unchecked = yield* run([...setToken, ...names], "swordfish", elsewhere)
    assert.strictEqual(unchecked.code, 0)
    assert.include(unchecked.stderr, "the token was not verified")
    assert.strictEqual((yield* run(setToken, token)).code, 0)
    yield* assertHidden
  }).pipe(Effect.scoped))

it.live("a rejected token pauses its channel, and a new token resumes it", () =>
  Effect.gen(function*() {
    const {
      acme,
      assertHidden,
      health,
      metrics,
      read,
      rejected,
      rejectNext,
      run,
      setToken,
      start,
      states,
      token,
      until
    } = yield* beginWithToken
    yield* until(yield* start("+4915112345601"), "sent")
    assert.deepStrictEqual(yield* states, [{ state: "open", reason: null }])
    assert.deepStrictEqual(yield* health, { status: "ok" })

    yield* rejectNext
    yield* until(yield* start("+4915112345602"), "provider_auth")
    const waiting = yield* start("+4915112345603")
    assert.deepStrictEqual(yield* states, [{ state: "paused", reason: "provider_auth" }])
    assert.deepStrictEqual(yield* health, { status: "degraded", paused_channels: 1 })
    assert.match(yield* metrics, /messaging_crm_channels_paused\{[^}]*reason="provider_auth"[^}]*\} 1/)
    assert.strictEqual(yield* read(waiting), "queued")
    assert.include(yield* rejected(setToken, "swordfish"), "The network rejected this account")
    assert.deepStrictEqual(yield* states, [{ state: "paused", reason: "provider_auth" }])

    const replaced = yield* run(setToken, token)
    assert.deepStrictEqual(JSON.parse(replaced.stdout), { id: acme.channel_id, resumed: true })
    yield* until(waiting, "sent")
    assert.deepStrictEqual(yield* states, [{ state: "open", reason: null }])
    yield* assertHidden
  }).pipe(Effect.scoped))

it.live("a check of the accounts resumes a paused channel whose token works", () =>
  Effect.gen(function*() {
    const { assertHidden, health, rejectNext, run, start, until } = yield* beginWithToken
    yield* rejectNext
    yield* until(yield* start("+4915112345604"), "provider_auth")
    const checked = yield* run(["check"])
    assert.strictEqual(checked.code, 0, checked.stderr)
    assert.deepInclude(JSON.parse(checked.stdout)[0], { account: "ok", resumed: true })
    assert.deepStrictEqual(yield* health, { status: "ok" })
    yield* assertHidden
  }).pipe(Effect.scoped))

it.live("a channel is connected together with its account, or not at all", () =>
  Effect.gen(function*() {
    const { acme, environment } = yield* Cluster.make({ servers: 1, environment: {} })
    const setting = yield* decode(Setting, environment["CLOUD_ACCOUNTS"] ?? "")
    const [{ app_id, token }] = setting.channels
    const args = (address: string, app = app_id) =>
      ["channels", "connect", "--organization", acme.organization_id, "--json", "--type", "page_messaging"].concat(
        ["--name", "Page", "--address", address, "--account", "1784", "--app", app, "--token-file", "-"]
      )
    const unknown = yield* Processes.run(args("acme", "42"), environment, token)
    assert.include(unknown.stderr, "CLOUD_ACCOUNTS has no app with the ID of --app. Nothing was changed.")
    assert.strictEqual(unknown.code, 1)
    const bad = yield* Processes.run(args("acme"), environment, "swordfish")
    assert.include(bad.stderr, "The network rejected this account (provider_auth)")
    const good = yield* Processes.run(args("acme"), environment, `${token}\n`)
    assert.strictEqual(good.code, 0, good.stderr)
    const taken = yield* Processes.run(args("another"), environment, token)
    assert.include(taken.stderr, "Another channel is already connected to this account")
    const { stdout } = yield* Processes.run(
      ["channels", "list", "--organization", acme.organization_id, "--json"],
      environment
    )
    const types = JSON.parse(stdout).map(({ type }: { readonly type: string }) => type)
    assert.deepStrictEqual(types, ["phone_messaging", "page_messaging"])
    // A token of the environment counts until it is moved into the database, under the names that it has there.
    const of = ["--organization", acme.organization_id, "--json"]
    const withoutChannels = { ...environment, CLOUD_ACCOUNTS: JSON.stringify({ apps: setting.apps }) }
    const accounts = (env: Processes.Environment) =>
      Effect.map(Processes.run(["channels", "check", ...of], env), ({ stdout }) =>
        JSON.parse(stdout).map(({ account }: { readonly account: string }) => account))
    assert.deepStrictEqual(yield* accounts(environment), ["ok", "ok"])
    assert.deepStrictEqual(yield* accounts(withoutChannels), ["not_connected", "ok"])
    const move = ["channels", "set-token", "--channel", acme.channel_id, "--token-file", "-", ...of]
    assert.strictEqual((yield* Processes.run(move, environment, token)).code, 0)
    assert.deepStrictEqual(yield* accounts(withoutChannels), ["ok", "ok"])
  }).pipe(Effect.scoped))

/** Deletes the canary, as an operator does whose key is lost. */
const deleteCanary = (database_url: string) =>
  SqlClient.SqlClient.use((sql) => sql`DELETE FROM secret_canary`).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 }))
  )

it.live("a token is stored under the key of the database only, and set again under a new one when that key is lost", () =>
  Effect.gen(function*() {
    const { acme, database_url, environment: given, servers: [server] } = yield* Cluster.make({
      servers: 1,
      environment: {}
    })
    if (server === undefined) return assert.fail("there is no server")
    const setting = yield* decode(Setting, given["CLOUD_ACCOUNTS"] ?? "")
    const [{ app_id, phone_number_id, token }] = setting.channels
    const old = { ...given, CLOUD_ACCOUNTS: JSON.stringify({ apps: setting.apps }) }
    const another = { ...old, SECRET_KEY: Buffer.alloc(32, 9).toString("base64") }
    const run = (args: ReadonlyArray<string>, environment: Processes.Environment) =>
      Processes.run(["channels", ...args, "--organization", acme.organization_id, "--json"], environment, token)
    const setToken = ["set-token", "--channel", acme.channel_id, "--token-file", "-"]
    const connect = ["connect", "--type", "page_messaging", "--name", "Page", "--address", "acme", "--token-file", "-"]
      .concat(["--account", "1784", "--app", app_id])
    const accounts = (environment: Processes.Environment) =>
      Effect.map(
        run(["check"], environment),
        ({ stdout }) => JSON.parse(stdout).map(({ account }: { readonly account: string }) => account)
      )

    // No server has run yet, so the first token makes its key that of the database.
    const first = yield* run([...setToken, "--account", phone_number_id, "--app", app_id], old)
    assert.strictEqual(first.code, 0, first.stderr)
    for (const args of [setToken, connect]) {
      const { code, stderr } = yield* run(args, another)
      assert.strictEqual(code, 1)
      assert.include(stderr, "SECRET_KEY is not the key of this database. Nothing was changed.")
    }
    assert.deepStrictEqual(yield* accounts(old), ["ok"])

    yield* deleteCanary(database_url)
    yield* Servers.serve(another, server)
    assert.deepStrictEqual(yield* accounts(another), ["provider_auth"])
    const again = yield* run(setToken, another)
    assert.strictEqual(again.code, 0, again.stderr)
    assert.deepStrictEqual(yield* accounts(another), ["ok"])
    assert.include(yield* stored(database_url), phone_number_id)
  }).pipe(Effect.scoped))
