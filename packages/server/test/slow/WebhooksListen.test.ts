/** `webhooks listen` and a service, as two processes. */
import { assert, it } from "@effect/vitest"
import { verifyWebhook } from "@messaging-crm/client"
import { Effect, Queue, Schema } from "effect"
import { createInterface } from "node:readline"
import { freePort } from "../../src/dev/FreePort.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import type * as Servers from "../../testing/processes/Servers.ts"
import * as TcpProxy from "../../testing/processes/TcpProxy.ts"
import { startHttpServer } from "../../testing/processes/TestHttpServer.ts"

const Ready = Schema.fromJsonString(Schema.Struct({ base_url: Schema.String, api_key: Schema.String }))

const Contact = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const ContactCreated = Schema.fromJsonString(Schema.Struct({
  id: Schema.String,
  data: Schema.Struct({ contact_id: Schema.String })
}))

/** A process whose lines can be taken one by one. */
const talking = Effect.fnUntraced(function*(args: ReadonlyArray<string>, environment: Processes.Environment) {
  const { child, exited } = yield* Processes.startMain(args, environment)
  const [lines, notes] = [yield* Queue.unbounded<string>(), yield* Queue.unbounded<string>()]
  for (const [queue, input] of [[lines, child.stdout], [notes, child.stderr]] as const) {
    if (input !== null) createInterface({ input }).on("line", (line) => Queue.offerUnsafe(queue, line))
  }
  /** Returns the next line on stderr that contains a text. */
  const noted = (text: string) => Effect.repeat(Queue.take(notes), { while: (line) => !line.includes(text) })
  const signal = (name: NodeJS.Signals) => Effect.andThen(Effect.sync(() => child.kill(name)), exited)
  return { child, exited, line: Queue.take(lines), noted, signal, stop: signal("SIGINT") }
})

/** A service with demo data in memory, behind a proxy. */
const startService = Effect.gen(function*() {
  const service = yield* talking(["dev", "--json", "--port", "0", "--storage", "memory"], {
    RATE_LIMIT_PER_MINUTE: "100000",
    LOG_LEVEL: "info"
  })
  const ready = yield* Schema.decodeUnknownEffect(Ready)(yield* service.line)
  const server: Servers.Server = { port: 0, url: ready.base_url.replace(/\/v1$/, "") }
  const { api_key: key } = ready
  const proxy = yield* TcpProxy.make(Number(new URL(server.url).port))
  let contacts = 0
  const create = Effect.gen(function*() {
    const json = { first_name: `Kim ${++contacts}` }
    const created = yield* Api.request(server, "POST", "/contacts", {
      key,
      json,
      idempotency_key: `contact-${contacts}`
    })
    return (yield* Schema.decodeUnknownEffect(Contact)(created.text)).data.id
  })
  return { create, key, proxy, server, service }
})

/** Starts `webhooks listen` for new contacts, and waits until it listens. */
const startListener = Effect.fnUntraced(
  function*({ key, proxy }: Effect.Success<typeof startService>, flags: ReadonlyArray<string> = []) {
    const listener = yield* talking(
      ["webhooks", "listen", "--json", "--url", `http://127.0.0.1:${proxy.port}/v1`, "--event-type", "contact.created"]
        .concat(flags),
      { API_KEY: key }
    )
    yield* listener.noted("Listening")
    const contact = Effect.flatMap(listener.line, (line) =>
      Effect.map(
        Schema.decodeUnknownEffect(ContactCreated)(line),
        ({ data, id }) => ({ id, contact_id: data.contact_id })
      ))
    return { ...listener, contact }
  }
)

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

/** An endpoint that keeps the verified events, and responds with a status. */
const startEndpoint = Effect.gen(function*() {
  const state = { status: 204 }
  const events = yield* Queue.unbounded<string>()
  const url = yield* startHttpServer((request, response) => {
    let payload = ""
    request.setEncoding("utf8").on("data", (chunk: string) => payload += chunk).on("end", () => {
      void verifyWebhook({ payload, headers: request.headers, secret }).then(({ id }) => {
        Queue.offerUnsafe(events, id)
        response.writeHead(state.status).end()
      }, () => response.writeHead(401).end())
    })
  })
  return { event: Queue.take(events), state, url }
})

it.live("`webhooks listen` prints events, posts them with a valid signature, and continues after a lost connection", () =>
  Effect.gen(function*() {
    const running = yield* startService
    const { create, proxy, service } = running
    const endpoint = yield* startEndpoint
    const listener = yield* startListener(running, ["--forward-to", endpoint.url, "--signing-secret", secret])
    for (const condition of ["open", "rejected"] as const) {
      yield* proxy.setCondition({ kind: condition })
      const created = [yield* create, yield* create]
      if (condition === "rejected") yield* listener.noted("The connection to")
      yield* proxy.setCondition({ kind: "open" })
      for (const contact_id of created) {
        const printed = yield* listener.contact
        assert.strictEqual(printed.contact_id, contact_id)
        assert.strictEqual(yield* endpoint.event, printed.id)
      }
    }
    yield* listener.noted("The endpoint responded with 204.")
    endpoint.state.status = 500
    yield* create
    const { id } = yield* listener.contact
    assert.strictEqual(yield* endpoint.event, id)
    assert.include(yield* listener.noted("responded with 500"), `--event ${id}`)
    assert.strictEqual(yield* listener.stop, 0)

    // The event is posted again, by its ID.
    const again = (event: string) =>
      talking(
        ["webhooks", "listen", "--url", `http://127.0.0.1:${proxy.port}/v1`, "--forward-to", endpoint.url]
          .concat(["--signing-secret", secret, "--event", event]),
        { API_KEY: running.key }
      )
    const failed = yield* again(id)
    assert.strictEqual(yield* endpoint.event, id)
    assert.strictEqual(yield* failed.exited, 1)
    endpoint.state.status = 204
    const repeated = yield* again(id)
    assert.strictEqual(yield* endpoint.event, id)
    assert.strictEqual(yield* repeated.exited, 0)
    const unreachable = `http://127.0.0.1:${yield* freePort}/hooks`
    const { code, stderr } = yield* Processes.run(
      ["webhooks", "listen", "--url", `http://127.0.0.1:${proxy.port}/v1`, "--forward-to", unreachable, "--event", id],
      { API_KEY: running.key }
    )
    assert.strictEqual(code, 1)
    assert.include(stderr, `\n${unreachable} does not respond. Post the event again with --event ${id}.\n`)
    assert.notInclude(stderr, "responded with")
    const absent = yield* again(id.replace(/.{12}$/, "000000000000"))
    yield* absent.noted("has no event")
    assert.strictEqual(yield* absent.exited, 1)
    assert.strictEqual(yield* service.stop, 0)
  }).pipe(Effect.scoped))

it.live("`webhooks listen` shows a generated secret before it posts an event by its ID, and never a given one", () =>
  Effect.gen(function*() {
    const running = yield* startService
    const listener = yield* startListener(running)
    yield* running.create
    const { id } = yield* listener.contact
    assert.strictEqual(yield* listener.stop, 0)
    const signed = yield* Queue.unbounded<Parameters<typeof verifyWebhook>[0]>()
    const url = yield* startHttpServer((request, response) => {
      let payload = ""
      request.setEncoding("utf8").on("data", (chunk: string) => payload += chunk).on("end", () => {
        Queue.offerUnsafe(signed, { payload, headers: request.headers, secret })
        response.writeHead(204).end()
      })
    })
    const post = (flags: ReadonlyArray<string>) =>
      Processes.run(
        ["webhooks", "listen", "--url", `${running.server.url}/v1`, "--forward-to", url, "--event", id].concat(flags),
        { API_KEY: running.key }
      )
    const generated = yield* post([])
    const [, shown = ""] = /^Signing secret: (whsec_\S+)$/m.exec(generated.stderr) ?? []
    assert.include(generated.stderr, `Forwarding to ${url}`)
    const request = yield* Queue.take(signed)
    assert.strictEqual((yield* Effect.promise(() => verifyWebhook({ ...request, secret: shown }))).id, id)
    const given = yield* post(["--signing-secret", secret])
    assert.include(given.stderr, `Forwarding to ${url}`)
    assert.notInclude(given.stdout + given.stderr, secret)
    const second = yield* Queue.take(signed)
    assert.strictEqual((yield* Effect.promise(() => verifyWebhook(second))).id, id)
  }).pipe(Effect.scoped))

it.live("`webhooks listen` ends with the cursor to continue with, also if its terminal closes or its output ends", () =>
  Effect.gen(function*() {
    const running = yield* startService
    const first = yield* startListener(running)
    yield* running.create
    yield* first.contact
    assert.strictEqual(yield* first.signal("SIGHUP"), 0)
    const [, cursor = ""] = /--after (\S+)/.exec(yield* first.noted("Stopped.")) ?? []
    const missed = yield* running.create
    const second = yield* startListener(running, ["--after", cursor])
    // The event that the first one printed last may be repeated.
    yield* Effect.repeat(second.contact, { while: ({ contact_id }) => contact_id !== missed })
    second.child.stdout?.destroy()
    yield* Effect.replicateEffect(running.create, 3)
    assert.strictEqual(yield* second.exited, 0)
    const rejected = yield* talking(
      ["webhooks", "listen", "--url", `${running.server.url}/v1`, "--api-key", running.key, "--after", "yesterday"],
      {}
    )
    yield* rejected.noted("--after")
    assert.strictEqual(yield* rejected.exited, 1)
  }).pipe(Effect.scoped))

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
