/** One connection: its requests in turn, its failures, and what others notice of it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { close, closing, host, request, serve } from "./RawHttp.ts"

/** A route whose responses wait, and effects that wait until so many requests have arrived. */
const gated = (count = 1) => {
  const arrived = Deferred.makeUnsafe<void>()
  const gate = Deferred.makeUnsafe<void>()
  const left = Deferred.makeUnsafe<void>()
  const seen = { running: 0, most: 0 }
  const response = Effect.gen(function*() {
    seen.most = Math.max(seen.most, ++seen.running)
    if (seen.running === count) yield* Deferred.done(arrived, Exit.void)
    yield* Deferred.await(gate)
    seen.running--
    return HttpServerResponse.text("waited")
  }).pipe(Effect.onInterrupt(() => Deferred.done(left, Exit.void)))
  const routes = HttpRouter.use((router) =>
    Effect.andThen(router.add("GET", "/wait", response), router.add("POST", "/wait", response))
  )
  return {
    routes,
    seen,
    arrived: Deferred.await(arrived),
    left: Deferred.await(left),
    open: Deferred.done(gate, Exit.void)
  }
}

const statusesOf = (text: string) => Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))

describe("a connection", () => {
  it.live("is closed after the response to its 1,000th request, whatever follows it", () =>
    Effect.gen(function*() {
      const { ask } = yield* serve(Layer.empty)
      const received = yield* ask(request("GET /hello HTTP/1.1", host).repeat(1002))
      assert.deepStrictEqual(statusesOf(received), Array.from({ length: 1000 }, () => 200))
      assert.lengthOf(Array.from(received.matchAll(/^connection: close/gim)), 1)
    }))

  it.live("gets a rejection that names both limits of headers", () =>
    Effect.gen(function*() {
      const { ask } = yield* serve(Layer.empty)
      const headers = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}: 1`)
      assert.deepStrictEqual(
        statusesOf(yield* ask(request("GET /hello HTTP/1.1", host, "Connection: close", ...headers(97)))),
        [200]
      )
      const rejected = yield* ask(request("GET /hello HTTP/1.1", host, ...headers(101)))
      assert.deepStrictEqual(statusesOf(rejected), [431])
      for (const limit of ["16,384 bytes", "100 headers"]) assert.include(rejected, limit)
    }))
})

describe("an error of a socket", () => {
  it.live("stops no server after CONNECT, when Node no longer listens for errors", () =>
    Effect.gen(function*() {
      const { ask, open, server, taken } = yield* serve(Layer.empty)
      for (const header of ["Accept: */*", "Content-Length: 5"]) {
        const tunnel = Effect.callback<Socket>((resume) =>
          void server.once("connect", ({ socket }) => resume(Effect.succeed(socket)))
        )
        const socket = open().resume()
        socket.write(request("CONNECT x:1 HTTP/1.1", host, header))
        const theirs = yield* tunnel
        assert.isAbove(theirs.listenerCount("error"), 0)
        theirs.destroy(Object.assign(new Error("write ECONNRESET"), { code: "ECONNRESET" }))
        yield* closing(socket)
      }
      for (const socket of taken) socket.emit("error", new Error("late"))
      assert.deepStrictEqual(statusesOf(yield* ask(request("GET /hello HTTP/1.1", host, close))), [200])
    }).pipe(Effect.scoped))

  it.live("stops no server when clients reset connections in the middle of a request", () =>
    Effect.gen(function*() {
      const { ask, open } = yield* serve(Layer.empty)
      const texts = [
        request("CONNECT x:1 HTTP/1.1", host),
        request("GET /hello HTTP/1.1", host),
        `${request("POST /hello HTTP/1.1", host, "Content-Length: 5")}hello`
      ]
      for (let round = 0; round < 300; round++) {
        const text = texts[round % 3] ?? ""
        const socket = open()
        yield* Effect.callback<void>((resume) =>
          void socket.once("connect", () =>
            socket.write(text.slice(0, 1 + (round * 7) % text.length), () => {
              socket.once("close", () => resume(Effect.void)).resetAndDestroy()
            }))
        )
      }
      assert.deepStrictEqual(statusesOf(yield* ask(request("GET /hello HTTP/1.1", host, close))), [200])
    }).pipe(Effect.scoped))
})

describe("pipelined requests", () => {
  it.live("start one after another, and the server reads at most 1,024 bytes ahead", () =>
    Effect.gen(function*() {
      const { arrived, open, routes, seen } = gated()
      const { ask } = yield* serve(routes)
      let parsed = 0
      const count = (message: unknown) => {
        const { request } = message as { readonly request: { readonly url: string } }
        if (request.url === "/wait") parsed++
      }
      subscribe("http.server.request.start", count)
      yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe("http.server.request.start", count)))
      const one = request("GET /wait HTTP/1.1", host)
      const responses = yield* Effect.forkChild(ask(one.repeat(799) + request("GET /wait HTTP/1.1", host, close)))
      yield* arrived
      // Whatever the server would read on, it has read by now.
      for (let round = 0; round < 10; round++) yield* ask(request("GET /hello HTTP/1.1", host, close))
      assert.isAtMost(parsed, 1024 / one.length + 1)
      yield* open
      assert.deepStrictEqual(statusesOf(yield* Fiber.join(responses)), Array(800).fill(200))
      assert.deepStrictEqual([seen.most, parsed], [1, 800])
    }).pipe(Effect.scoped))

  it.live("with bodies get their responses in order, however the bytes are split", () =>
    Effect.gen(function*() {
      const sized = HttpRouter.use((router) =>
        router.add(
          "POST",
          "/size",
          Effect.gen(function*() {
            const { text } = yield* HttpServerRequest.HttpServerRequest
            return HttpServerResponse.text(`<${(yield* text).length}>`)
          })
        )
      )
      const { open } = yield* serve(sized)
      const sizes = [0, 1, 700, 1023, 1024, 5000, 60_000, 3, 2048]
      const text = sizes.map((size, index) => {
        const last = index === sizes.length - 1 ? [close] : []
        return request("POST /size HTTP/1.1", host, `Content-Length: ${size}`, ...last) + "x".repeat(size)
      }).join("")
      for (const cut of [1, 100, 1024, 1500, 70_000, text.length]) {
        const received = yield* Effect.callback<string>((resume) => {
          let all = ""
          const socket = open().setEncoding("utf8").on("data", (chunk: string) => all += chunk)
          socket.once("close", () => resume(Effect.succeed(all)))
          socket.write(text.slice(0, cut), () => void socket.write(text.slice(cut)))
        })
        assert.deepStrictEqual(Array.from(received.matchAll(/<(\d+)>/g), ([, size]) => Number(size)), sizes)
      }
    }).pipe(Effect.scoped))

  it.live("that are not HTTP are rejected after the responses to those before them", () =>
    Effect.gen(function*() {
      for (const rest of ["garbage\r\n\r\n", request("CONNECT x:1 HTTP/1.1", host)]) {
        const { arrived, open, routes } = gated()
        const { ask } = yield* serve(routes)
        const post = `${request("POST /wait HTTP/1.1", host, "Content-Length: 2")}{}`
        const responses = yield* Effect.forkChild(ask(post + request("GET /hello HTTP/1.1", host) + rest))
        yield* arrived
        yield* open
        const status = rest.startsWith("CONNECT") ? 405 : 400
        assert.deepStrictEqual(statusesOf(yield* Fiber.join(responses)), [200, 200, status])
      }
    }).pipe(Effect.scoped))

  it.live("do not start after a request that closes the connection", () =>
    Effect.gen(function*() {
      const { routes, seen } = gated()
      const { ask } = yield* serve(routes)
      const responses = yield* ask(request("GET /hello HTTP/1.1", host, close) + request("POST /wait HTTP/1.1", host))
      assert.deepStrictEqual(statusesOf(responses), [200])
      assert.strictEqual(seen.most, 0)
    }).pipe(Effect.scoped))
})

describe("a client that hangs up", () => {
  it.live("interrupts its request in progress", () =>
    Effect.gen(function*() {
      const { arrived, left, routes } = gated()
      const { open } = yield* serve(routes)
      const socket = open()
      socket.write(request("GET /wait HTTP/1.1", host))
      yield* arrived
      socket.destroy()
      yield* left
    }).pipe(Effect.scoped))
})

describe("an invalid chunk of a body", () => {
  it.live("closes the connection if a part of the response has been sent", () =>
    Effect.gen(function*() {
      const begun = HttpRouter.use((router) =>
        router.add(
          "POST",
          "/begun",
          Effect.succeed(
            HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.make("begun"), Stream.never)))
          )
        )
      )
      const { open } = yield* serve(begun)
      const received = yield* Effect.callback<string>((resume) => {
        let all = ""
        const socket = open().setEncoding("utf8")
        socket.on("data", (chunk: string) => {
          all += chunk
          if (all.includes("begun")) socket.write("not a chunk\r\n")
        })
        socket.once("close", () => resume(Effect.succeed(all)))
        socket.write(request("POST /begun HTTP/1.1", host, "Transfer-Encoding: chunked"))
      })
      assert.deepStrictEqual(statusesOf(received), [200])
    }).pipe(Effect.scoped))

  it.live("is rejected if nothing has been sent", () =>
    Effect.gen(function*() {
      const { routes } = gated()
      const { ask } = yield* serve(routes)
      const received = yield* ask(
        request("POST /wait HTTP/1.1", host, "Transfer-Encoding: chunked") + "not a chunk\r\n"
      )
      assert.deepStrictEqual(statusesOf(received), [400])
    }).pipe(Effect.scoped))
})

describe("a response in preparation", () => {
  it.live("has no time limit for clients that read nothing", () =>
    Effect.gen(function*() {
      const { arrived, open, routes } = gated()
      const { ask, server } = yield* serve(routes, { stall_millis: 20 })
      const late = Effect.callback<void>((resume) => void server.once("timeout", () => resume(Effect.void)))
      const received = yield* Effect.forkChild(ask(request("GET /wait HTTP/1.1", host, close)))
      yield* arrived
      yield* late
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

describe("requests that arrive together", () => {
  it.live("start at most 32 per turn of the event loop", () =>
    Effect.gen(function*() {
      const count = 100
      const { arrived, open, routes } = gated(count)
      const { open: connected, server, taken } = yield* serve(routes)
      const sockets = Array.from({ length: count }, connected)
      yield* Effect.sync(() => taken.length).pipe(Effect.repeat({ until: (length) => length === count }))
      const turns: Array<number> = []
      let begun = 0
      server.on("request", () => {
        if (begun++ === 0) {
          // Runs in the next turn.
          setImmediate(() => {
            turns.push(begun)
            begun = 0
          })
        }
      })
      const wait = request("GET /wait HTTP/1.1", host, close)
      const ended = yield* Effect.forkChild(Effect.forEach(sockets, closing, { concurrency: "unbounded" }))
      for (const socket of sockets) socket.resume().write(wait)
      yield* arrived
      yield* open
      yield* Fiber.join(ended)
      assert.strictEqual(turns.reduce((sum, each) => sum + each, 0), count)
      assert.isAtMost(Math.max(...turns), 32)
      assert.isAtLeast(Math.max(...turns), 2)
    }).pipe(Effect.scoped))
})
