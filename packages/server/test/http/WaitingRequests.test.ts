/** Requests that wait for events behind a socket: their responses begin at once, and end with the server. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { EventId, WebhookId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { HttpServer } from "effect/http"
import { type IncomingMessage, request as send } from "node:http"
import { connect } from "node:net"
import { afterAll } from "vitest"
import { idempotency, start } from "../../../adapter-http/testing/Service.ts"
import { createHttpServer } from "../../src/http/HttpServer.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import { closing, host, request } from "./RawHttp.ts"

const service = start()
afterAll(() => service.stop())

const routes = Layers.api(Effect.succeed(true), { ingress: Layer.empty })
const listener = Listener.layer({ host: "127.0.0.1", port: 0 })
const core = Layer.effectContext(Effect.promise(() => service.runtime.context()))

/** Serves the service on a port of its own, until the scope ends. */
const serve = Effect.fnUntraced(function*(scope: Scope.Scope) {
  const context = yield* routes.pipe(
    Layer.provideMerge(listener),
    Layer.provide(core),
    Layer.buildWithScope(scope)
  )
  return yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
})

const organization = Effect.promise(() => service.organization())

/** Opens a stream of events on a connection of its own, and returns its response and an effect that reads its next bytes. */
const stream = Effect.fnUntraced(function*(address: string, key: string, method = "GET") {
  const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream", "accept-encoding": "gzip" }
  const response = yield* Effect.callback<IncomingMessage>((resume) => {
    send(`${address}/v1/events`, { method, headers, agent: false }, (found) => resume(Effect.succeed(found))).end()
  })
  const chunks = response.setEncoding("utf8").on("error", () => {})[Symbol.asyncIterator]()
  const text = Effect.promise(async (): Promise<string | undefined> => (await chunks.next()).value)
  return { abort: Effect.sync(() => response.destroy()), response, text }
})

it.live("a request that waits for events gets an empty page when the server stops", () =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const address = yield* serve(scope)
    const { key } = yield* organization
    const headers = { authorization: `Bearer ${key}` }
    const response = yield* Effect.promise(() => fetch(`${address}/v1/events?after=now&wait=30`, { headers }))
    assert.strictEqual(response.status, 200)
    assert.isNull(response.headers.get("content-encoding"))
    const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
    const page = JSON.parse(yield* Effect.promise(() => response.text()))
    assert.deepStrictEqual(page.data, [])
    assert.isString(page.next_cursor)
    yield* Fiber.join(stopped)
  }))

describe("a stream of events", () => {
  it.live("is sent event by event, without compression, and ends when the server stops", () =>
    Effect.gen(function*() {
      // The end of a server ends the waits of its service.
      const other = start()
      const runtime = yield* Effect.promise(() => other.runtime.context())
      const scope = yield* Scope.make()
      const context = yield* routes.pipe(
        Layer.provideMerge(listener),
        Layer.provide(Layer.succeedContext(runtime)),
        Layer.buildWithScope(scope)
      )
      const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
      const { key } = yield* Effect.promise(() => other.organization())
      const { response, text } = yield* stream(address, key)
      assert.strictEqual(response.headers["content-type"], "text/event-stream")
      assert.isUndefined(response.headers["content-encoding"])
      assert.strictEqual(response.headers["x-accel-buffering"], "no")
      let received = ""
      while (!received.endsWith("\n\n")) received += (yield* text) ?? ""
      assert.match(received, /^retry: 1000\nid: \S+\n\n$/)
      yield* Effect.promise(() =>
        other.request("POST", "/v1/contacts", { key, json: { first_name: "Kim" }, ...idempotency() })
      )
      assert.match((yield* text) ?? "", /^id: \S+\ndata: \{"id":"[^\n]+"type":"contact.created"[^\n]+\}\n\n$/)
      const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      assert.strictEqual(yield* text, ": end\nretry: 1000\n\n")
      assert.isUndefined(yield* text)
      yield* Fiber.join(stopped)
      yield* Effect.promise(() => other.stop())
    }))

  it.live("frees its slot when its client hangs up", () =>
    Effect.gen(function*() {
      const other = start()
      const context = yield* routes.pipe(
        Layer.provideMerge(listener),
        Layer.provide(Layer.effectContext(Effect.promise(() => other.runtime.context()))),
        Layer.build
      )
      const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
      const { key } = yield* Effect.promise(() => other.organization())
      const open = stream(address, key)
      const streams = yield* Effect.replicateEffect(open, limits.organization_followers_max)
      const { response } = yield* open
      assert.deepStrictEqual([response.statusCode, response.headers["retry-after"]], [429, "5"])
      yield* Effect.forEach(streams, ({ abort }) => abort)
      yield* Effect.repeat(open, { while: ({ response }) => response.statusCode === 429 })
      // A response without a body keeps no slot.
      yield* Effect.replicateEffect(stream(address, key, "HEAD"), limits.organization_followers_max)
      assert.strictEqual((yield* open).response.statusCode, 200)
    }).pipe(Effect.scoped))

  it.live("is read from the store as its client reads it, and is closed if the client reads nothing", () =>
    Effect.gen(function*() {
      const count = { parts: 0 }
      const closed = yield* Deferred.make<void>()
      const event = {
        id: EventId.make("01990000-0000-7000-8000-000000000001"),
        type: "webhook.test" as const,
        timestamp: yield* DateTime.now,
        data: { conversation_id: null, webhook_id: WebhookId.make("01990000-0000-7000-8000-000000000002") }
      }
      const events = Array.from({ length: limits.page_size_max }, () => ({ event, cursor: "cursor" }))
      const endless = Stream.forever(Stream.sync(() => {
        count.parts += 1
        return { events, cursor: "cursor" }
      })).pipe(Stream.ensuring(Deferred.done(closed, Exit.void)))
      const followers = Layer.effect(
        EventFollowers,
        Effect.map(EventFollowers, (all) =>
          EventFollowers.of({
            ...all,
            open: Effect.succeed({ next: () => Effect.die("unused"), stream: () => Effect.succeed(endless) })
          }))
      )
      const server = createHttpServer(undefined, { stall_millis: 500 })
      yield* routes.pipe(
        Layer.provide(
          NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })
        ),
        Layer.provide(Layer.provideMerge(followers, core)),
        Layer.build
      )
      const address = server.address()
      const socket = connect(typeof address === "object" ? address?.port ?? 0 : 0, "127.0.0.1").on("error", () => {})
      socket.pause()
      const { key } = yield* organization
      socket.write(
        request("GET /v1/events HTTP/1.1", host, `Authorization: Bearer ${key}`, "Accept: text/event-stream")
      )
      yield* Deferred.await(closed)
      // A part has 16 kB. The buffers of both sockets have a few megabytes.
      assert.isBelow(count.parts, 1000)
      yield* closing(socket.resume())
    }).pipe(Effect.scoped))
})
