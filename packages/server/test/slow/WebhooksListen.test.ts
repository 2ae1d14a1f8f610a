/** `webhooks listen` and a service, as two processes. */
import { assert, it } from "@effect/vitest"
import { Event } from "@messaging-crm/core/Events"
import { Effect, Queue, Schema } from "effect"
import { createInterface } from "node:readline"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import type * as Servers from "../../testing/processes/Servers.ts"
import { startHttpServer } from "../../testing/processes/TestHttpServer.ts"

const Ready = Schema.fromJsonString(Schema.Struct({
  base_url: Schema.String,
  api_key: Schema.String,
  channels: Schema.Array(Schema.Struct({ id: Schema.String, type: Schema.String })),
  template_ids: Schema.Array(Schema.String)
}))

const Webhooks = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ url: Schema.String, status: Schema.String }))
}))

const Send = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ conversation_id: Schema.String }) }))

/** A process whose lines can be taken one by one. */
const talking = Effect.fnUntraced(function*(args: ReadonlyArray<string>, environment: Processes.Environment) {
  const { child, exited } = yield* Processes.startMain(args, environment)
  const lines = yield* Queue.unbounded<string>()
  const { stdout } = child
  if (stdout !== null) createInterface({ input: stdout }).on("line", (line) => Queue.offerUnsafe(lines, line))
  const signal = (name: NodeJS.Signals) => Effect.andThen(Effect.sync(() => child.kill(name)), exited)
  return { child, exited, line: Queue.take(lines), signal, stop: signal("SIGINT") }
})

/** A service with demo data in memory, and its webhooks. */
const startService = Effect.gen(function*() {
  const service = yield* talking(["dev", "--json", "--port", "0", "--storage", "memory"], {
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
    RATE_LIMIT_PER_MINUTE: "100000",
    LOG_LEVEL: "info"
  })
  const ready = yield* Schema.decodeUnknownEffect(Ready)(yield* service.line)
  const server: Servers.Server = { port: 0, url: ready.base_url.replace(/\/v1$/, "") }
  const { api_key: key } = ready
  const webhooks = Api.request(server, "GET", "/webhooks", { key }).pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Webhooks)(text)),
    Effect.map(({ data }) => data)
  )
  const untilStatus = (status: string) =>
    eventually(Effect.map(webhooks, ([newest]) => newest), (newest) => newest?.status === status)
  return { key, ready, server, service, untilStatus, webhooks }
})

/** Starts `webhooks listen`, and waits for its webhook. */
const startListener = Effect.fnUntraced(
  function*({ key, ready, untilStatus }: Effect.Success<typeof startService>, flags: ReadonlyArray<string>) {
    const listener = yield* talking(["webhooks", "listen", "--json", "--url", ready.base_url, ...flags], {
      API_KEY: key
    })
    const webhook = yield* untilStatus("active")
    if (webhook === undefined) return assert.fail("There is no webhook.")
    return { listener, webhook }
  }
)

it.live(
  "`webhooks listen` prints events of the service, rejects other requests, and unsubscribes when it stops",
  () =>
    Effect.gen(function*() {
      const running = yield* startService
      const { key, ready, server, service, webhooks } = running
      const types = ["--event-type", "message.received", "--event-type", "message.sent"]
      const forwarded: Array<{ readonly type: string; readonly signature: unknown }> = []
      const receiver = yield* startHttpServer((request, response) => {
        let text = ""
        request.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("end", () => {
          forwarded.push({ type: JSON.parse(text).type, signature: request.headers["webhook-signature"] })
          response.end()
        })
      })
      const { listener, webhook } = yield* startListener(running, ["--forward-to", receiver, ...types])
      const forged = yield* Effect.promise(() => fetch(webhook.url, { method: "POST", body: "{}" }))
      assert.strictEqual(forged.status, 401)
      const huge = yield* Effect.promise(() => fetch(webhook.url, { method: "POST", body: "a".repeat(64 * 1024 + 1) }))
      assert.strictEqual(huge.status, 413)

      const channel = ready.channels.find(({ type }) => type === "phone_messaging")
      const greeting = Api.newConversation(channel?.id ?? "", "+49 151 5550007", "Kim")
      const id = ready.template_ids.find((id) => id.endsWith("order_ready"))
      const started = yield* Api.request(server, "POST", "/conversations", {
        key,
        json: { ...greeting, template: { ...greeting.template, id } },
        idempotency_key: "listen-to-me"
      })
      assert.strictEqual(started.status, 202, started.text)
      const { data: { conversation_id } } = yield* Schema.decodeUnknownEffect(Send)(started.text)
      const heard = new Set<string>()
      // The demo's own messages raise events too.
      while (heard.size < 2) {
        const { data, type } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Event))(yield* listener.line)
        if ("message_id" in data && data.conversation_id === conversation_id) heard.add(type)
      }
      assert.deepStrictEqual(heard, new Set(["message.received", "message.sent"]))

      // An event is printed before it is forwarded.
      yield* eventually(Effect.sync(() => new Set(forwarded.map(({ type }) => type)).size), (size) => size === 2)
      for (const { signature } of forwarded) assert.match(String(signature), /^v1,/)

      assert.strictEqual(yield* listener.stop, 0)
      assert.deepStrictEqual((yield* webhooks).map(({ status }) => status), ["disabled"])
      assert.strictEqual(yield* service.stop, 0)
    }).pipe(Effect.scoped)
)

it.live(
  "`webhooks listen` unsubscribes when its terminal closes, and when the reader of its output stops",
  () =>
    Effect.gen(function*() {
      const running = yield* startService
      const { key, server, untilStatus } = running
      const flags = ["--event-type", "contact.created"]
      const { listener: first } = yield* startListener(running, flags)
      assert.strictEqual(yield* first.signal("SIGHUP"), 0)
      yield* untilStatus("disabled")

      const { listener: second } = yield* startListener(running, flags)
      second.child.stdout?.destroy()
      const json = { first_name: "Kim" }
      for (const idempotency_key of ["contact-1", "contact-2", "contact-3"]) {
        yield* Api.request(server, "POST", "/contacts", { key, json, idempotency_key })
      }
      assert.strictEqual(yield* second.exited, 0)
      yield* untilStatus("disabled")
    }).pipe(Effect.scoped)
)

it.live("a service continues although its log cannot be written", () =>
  Effect.gen(function*() {
    const { key, server, service } = yield* startService
    service.child.stderr?.destroy()
    for (let request = 0; request < 5; request++) {
      const { status } = yield* Api.request(server, "GET", "/contacts", { key })
      assert.strictEqual(status, 200)
    }
    assert.strictEqual(yield* service.stop, 0)
  }).pipe(Effect.scoped))
