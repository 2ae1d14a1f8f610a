/** The commands of an operator over a service that `dev` runs on PostgreSQL. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { folder } from "../../testing/Folder.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import { Data, dev } from "./DevScene.ts"

const begin = Effect.gen(function*() {
  const { ready, server } = yield* dev(yield* folder)
  const webhook = yield* Api.request(server, "POST", "/webhooks", {
    key: ready.api_key,
    json: { url: "https://shop.example/crm", event_types: ["message.sent"] },
    idempotency_key: "a-webhook"
  })
  const { data } = yield* Schema.decodeUnknownEffect(Data)(webhook.text)
  const environment = { DATABASE_URL: ready.database_url ?? "" }
  return {
    ready,
    server,
    webhook_id: String(data["id"]),
    of: ["--organization", ready.organization_id],
    run: (...args: ReadonlyArray<string>) => Processes.run(args, environment),
    /** Returns the rows that a command prints. */
    rows: (...args: ReadonlyArray<string>) =>
      Effect.map(
        Processes.command(args, environment),
        (rows) => rows as ReadonlyArray<Readonly<Record<string, string>>>
      )
  }
})

class RunningDev extends Context.Service<RunningDev, Effect.Success<typeof begin>>()("test/RunningDev") {
  static readonly layer = Layer.effect(RunningDev, begin)
}

it.layer(RunningDev.layer, { excludeTestServices: true, timeout: "5 minutes" })("commands over dev", (it) => {
  it.effect("a revoked key is rejected", () =>
    Effect.gen(function*() {
      const { of, ready, rows, server } = yield* RunningDev
      // Each start of the console leaves a revoked key.
      const demo = (yield* rows("keys", "list", ...of)).find(({ name }) => name === "demo")
      yield* rows("keys", "revoke", ...of, "--key-id", demo?.["id"] ?? "")
      const revoked = yield* Api.request(server, "GET", "/tags", { key: ready.api_key })
      assert.strictEqual(revoked.status, 401)
    }))

  it.effect("a key is created for owners and admins only", () =>
    Effect.gen(function*() {
      const { of, rows, run } = yield* RunningDev
      const simple = (yield* rows("members", "list", ...of)).find(({ role }) => role === "member")
      const key = ["--member", simple?.["id"] ?? "", "--name", "x", "--expires", "90d", "--scope", "tags:read"]
      assert.deepStrictEqual(yield* run("keys", "create", ...of, ...key), {
        code: 1,
        stdout: "",
        stderr: "Only owners and admins can have keys. Choose another --member.\n"
      })
    }))

  it.effect("an unknown organization is an error, which --json prints as JSON", () =>
    Effect.gen(function*() {
      const { run } = yield* RunningDev
      const unknown = yield* run("keys", "list", "--organization", "00000000-0000-4000-8000-000000000001", "--json")
      const message = "No organization has this ID. Find the ID with: messaging-crm organizations list."
      assert.deepStrictEqual(unknown, { code: 1, stdout: "", stderr: `${JSON.stringify({ error: { message } })}\n` })
    }))

  it.effect("a webhook is listed and disabled", () =>
    Effect.gen(function*() {
      const { of, rows, webhook_id } = yield* RunningDev
      const listed = Effect.map(
        rows("webhooks", "list", ...of),
        (webhooks) => webhooks.map(({ id, status }) => `${id} ${status}`)
      )
      assert.deepStrictEqual(yield* listed, [`${webhook_id} active`])
      yield* rows("webhooks", "disable", ...of, "--webhook", webhook_id)
      assert.deepStrictEqual(yield* listed, [`${webhook_id} disabled`])
    }))

  it.effect("a webhook is created with its secret, and to NATS only with the setting", () =>
    Effect.gen(function*() {
      const { of, run } = yield* RunningDev
      const create = (url: string) =>
        run("webhooks", "create", ...of, "--url", url, "--event-type", "message.received", "--json")
      const created = yield* create("https://shop.example/crm")
      const { signing_secret, status }: Readonly<Record<string, string>> = JSON.parse(created.stdout)
      assert.match(signing_secret ?? "", /^whsec_/)
      assert.strictEqual(status, "active")
      const rejected = yield* create("nats://crm.acme")
      assert.strictEqual(rejected.code, 1)
      assert.include(rejected.stderr, "The URL must begin with https://")
    }))

  it.effect("the organization is listed", () =>
    Effect.gen(function*() {
      const { ready, rows } = yield* RunningDev
      assert.deepStrictEqual((yield* rows("organizations", "list")).map(({ id }) => id), [ready.organization_id])
    }))

  it.effect("the only owner is neither removed nor given another role", () =>
    Effect.gen(function*() {
      const { of, rows, run } = yield* RunningDev
      const owners = (yield* rows("members", "list", ...of)).filter(({ role }) => role === "owner")
      assert.lengthOf(owners, 1)
      const last = ["--member", owners[0]?.["id"] ?? ""]
      for (const command of [["remove", ...of, ...last], ["set-role", ...of, ...last, "--role", "admin"]]) {
        const kept = yield* run("members", ...command)
        assert.strictEqual(kept.code, 1)
        assert.include(kept.stderr, "must have an owner")
      }
    }))
})
