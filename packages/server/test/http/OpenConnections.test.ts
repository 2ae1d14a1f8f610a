/** All connections: which of them the HTTP server closes, and how many requests are in progress at once. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schedule, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { connect, type Socket } from "node:net"
import { createHttpServer } from "../../src/http/HttpServer.ts"
import { gated, statusesOf } from "./GatedRoute.ts"
import { close, closing, host, nextStatus, request, serve } from "./RawHttp.ts"

describe("a client that does not read its response", () => {
  it.live("loses the connection", () =>
    Effect.gen(function*() {
      const routes = HttpRouter.use((router) =>
        Effect.andThen(
          router.add("GET", "/whole", Effect.succeed(HttpServerResponse.uint8Array(new Uint8Array(32_000_000)))),
          router.add("GET", "/stream", Effect.succeed(HttpServerResponse.stream(endless)))
        )
      )
      let ended = 0
      const endless = Stream.repeat(Stream.make(new Uint8Array(262_144)), Schedule.forever).pipe(
        Stream.onExit(() => Effect.sync(() => ended++))
      )
      const server = createHttpServer(undefined, { stall_millis: 50 })
      yield* Effect.gen(function*() {
        const url = new URL(yield* HttpServer.addressFormattedWith(Effect.succeed))
        for (const path of ["/whole", "/stream"]) {
          yield* Effect.callback<void>((resume) => {
            const socket = connect(Number(url.port), url.hostname, () =>
              socket.write(request(`GET ${path} HTTP/1.1`, host)))
            socket.pause()
            server.once("connection", (taken) =>
              taken.once("close", () =>
                resume(Effect.void)))
            return Effect.sync(() => socket.destroy())
          })
        }
      }).pipe(
        Effect.provide(
          HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
            Layer.provideMerge(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 }))
          )
        )
      )
      assert.strictEqual(ended, 1)
    }))
})

const hello = request("GET /hello HTTP/1.1", host)

describe("idle connections", () => {
  it.live("are closed, the oldest first, when too many are open", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(Layer.empty, { connections_max: 8 })
      const used = open()
      const askBoth = Effect.zip(Effect.suspend(() => nextStatus(open(), hello)), nextStatus(used, hello))
      const responses = yield* Effect.replicateEffect(askBoth, 30)
      assert.deepStrictEqual(responses.flat(), Array(60).fill("200"))
    }).pipe(Effect.scoped))

  it.live("do not prevent new connections after arriving at the same time", () =>
    Effect.gen(function*() {
      const places = 8
      const arrived = Array.from({ length: places }, () => Deferred.makeUnsafe<void>())
      const response = Deferred.makeUnsafe<void>()
      let number = 0
      const wait = Effect.suspend(() => {
        const one = arrived[number++]
        return one === undefined
          ? Effect.void
          : Effect.andThen(Deferred.done(one, Exit.void), Deferred.await(response))
      })
      const routes = HttpRouter.add("GET", "/wait", Effect.as(wait, HttpServerResponse.text("hello")))
      const { open } = yield* serve(routes, { connections_max: places })
      const ask = Effect.suspend(() => nextStatus(open(), request("GET /wait HTTP/1.1", host)))
      const first = yield* Effect.forkChild(Effect.replicateEffect(ask, places, { concurrency: "unbounded" }))
      yield* Effect.forEach(arrived, Deferred.await)
      yield* Deferred.done(response, Exit.void)
      assert.deepStrictEqual(yield* Fiber.join(first), Array(places).fill("200"))
      assert.strictEqual(yield* ask, "200")
    }).pipe(Effect.scoped))

  it.live("do not prevent new connections if they never send a request", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(Layer.empty, { connections_max: 8 })
      const connected = Effect.callback<Socket>((resume) => {
        const socket = open().once("connect", () => resume(Effect.succeed(socket)))
      })
      const used = yield* connected
      assert.strictEqual(yield* nextStatus(used, hello), "200")
      const silent = yield* Effect.replicateEffect(connected, 12)
      const last = yield* connected
      assert.strictEqual(yield* nextStatus(last, hello), "200")
      assert.strictEqual(yield* nextStatus(used, hello), "200", "a used connection stays open")
      for (const socket of [...silent, used, last]) socket.destroy()
    }).pipe(Effect.scoped))
})

describe("connections with a request in progress", () => {
  it.live("are limited in number", () =>
    Effect.gen(function*() {
      const places = 8
      const arrived = Array.from({ length: places }, () => Deferred.makeUnsafe<void>())
      let number = 0
      const wait = Effect.suspend(() => Deferred.done(arrived[number++] ?? Deferred.makeUnsafe<void>(), Exit.void))
      const routes = HttpRouter.add("GET", "/wait", Effect.andThen(wait, Effect.never))
      const { open } = yield* serve(routes, { connections_max: places })
      const ask = () => {
        const socket = open()
        socket.write(request("GET /wait HTTP/1.1", host))
        return socket
      }
      const sockets: Array<Socket> = []
      for (const one of arrived) {
        sockets.push(ask())
        yield* Deferred.await(one)
      }
      yield* closing(ask())
      for (const socket of sockets) assert.isFalse(socket.closed)
      for (const socket of sockets) socket.destroy()
    }).pipe(Effect.scoped))
})

describe("clients that can still send after their last response", () => {
  it.live("are limited in number", () =>
    Effect.gen(function*() {
      const { open, taken } = yield* serve(Layer.empty, { unread_max: 2 })
      const post = request("POST /hello HTTP/1.1", host, "Content-Length: 5")
      const sockets = Array.from({ length: 4 }, open)
      const responses = yield* Effect.forEach(sockets, (socket) => nextStatus(socket, post))
      assert.deepStrictEqual(responses, ["200", "200", "200", "200"])
      // The oldest are closed at once, and the others when their clients close them.
      const [first, second] = taken
      for (const one of [first, second]) if (one?.closed === false) yield* closing(one)
      for (const socket of sockets) socket.destroy()
    }).pipe(Effect.scoped))
})

describe("a response in preparation", () => {
  it.live("has no time limit for clients that read nothing", () =>
    Effect.gen(function*() {
      const { arrived, open, routes } = gated()
      const { ask, server } = yield* serve(routes, { stall_millis: 20 })
      // On a busy machine, the time can be over before the handler begins.
      const late = yield* Effect.forkChild(
        Effect.callback<void>((resume) => void server.once("timeout", () => resume(Effect.void))),
        { startImmediately: true }
      )
      const received = yield* Effect.forkChild(ask(request("GET /wait HTTP/1.1", host, close)))
      yield* arrived
      yield* Fiber.join(late)
      yield* open
      assert.deepStrictEqual(statusesOf(yield* Fiber.join(received)), [200])
    }).pipe(Effect.scoped))
})

describe("requests above the limit of requests in progress", () => {
  it.live("get 503 with Retry-After until others complete", () =>
    Effect.gen(function*() {
      const places = 4
      const { arrived, open, routes } = gated(places)
      const { ask } = yield* serve(routes, { requests_max: places })
      const wait = request("GET /wait HTTP/1.1", host, close)
      const first = yield* Effect.forkChild(Effect.replicateEffect(ask(wait), places, { concurrency: "unbounded" }))
      yield* arrived
      const rejected = yield* ask(wait)
      assert.match(rejected, /^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n/i)
      assert.include(rejected, "\"code\":\"overloaded\"")
      yield* open
      assert.deepStrictEqual((yield* Fiber.join(first)).flatMap(statusesOf), Array(places).fill(200))
      assert.deepStrictEqual(statusesOf(yield* ask(wait)), [200])
    }).pipe(Effect.scoped))
})

describe("requests whose bodies do not arrive", () => {
  it.live("do not count as requests in progress", () =>
    Effect.gen(function*() {
      const [places, count] = [2, 40]
      const { arrived, open, routes, seen } = gated(places)
      const { ask, open: connected, taken } = yield* serve(routes, { requests_max: places })
      const wait = request("GET /wait HTTP/1.1", host, close)
      const first = yield* Effect.forkChild(Effect.replicateEffect(ask(wait), places, { concurrency: "unbounded" }))
      yield* arrived
      const sockets = Array.from({ length: 2 * count }, connected)
      yield* Effect.sync(() => taken.length).pipe(Effect.repeat({ until: (length) => length === places + 2 * count }))
      let ended = 0
      for (const socket of sockets) socket.once("close", () => ended++)
      const head = request("POST /wait HTTP/1.1", host, close, "Content-Length: 5")
      for (const [index, socket] of sockets.entries()) socket.resume().write(index < count ? wait : head)
      const begun = Effect.sync(() => seen.running - places)
      yield* Effect.repeat(begun, { until: (more) => more + ended === sockets.length })
      assert.strictEqual(seen.most, places)
      yield* open
      assert.deepStrictEqual((yield* Fiber.join(first)).flatMap(statusesOf), Array(places).fill(200))
    }).pipe(Effect.scoped))
})
