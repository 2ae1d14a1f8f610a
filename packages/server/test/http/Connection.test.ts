/** One connection: its requests in turn, its failures, and what others notice of it. */
import { assert, describe, it } from "@effect/vitest"
import { ByteSize, Deferred, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { closesOf, gated, statusesOf } from "./GatedRoute.ts"
import { close, closing, converse, host, request, send, sendRaw, serve, served, textOf } from "./RawHttp.ts"

describe("a connection", () => {
  it.live("is closed after the response to its 1,000th request", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(Layer.empty)
      const received = yield* converse(open(), Array(1001).fill(request("GET /hello HTTP/1.1", host)))
      assert.deepStrictEqual(statusesOf(received), Array(1000).fill(200))
      assert.deepStrictEqual(closesOf(received), 1)
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

  it.live("is never upgraded, so that its limits remain", () =>
    Effect.gen(function*() {
      const upgrade = request("GET /hello HTTP/1.1", host, "Connection: Upgrade", "Upgrade: websocket")
      const responses = yield* sendRaw(upgrade, request("GET /hello HTTP/1.1", host, close))
      assert.lengthOf(responses.match(/HTTP\/1\.1 200 OK/g) ?? [], 2, responses)
    }).pipe(Effect.provide(served)))

  for (
    const [name, line, header] of [
      ["an absolute target of its host", "GET http://crm.example/hello?a=b HTTP/1.1", "Accept: */*"],
      ["its host in another case", "GET HTTP://CRM.example/hello HTTP/1.1", "Accept: */*"],
      ["headers that are lists", "GET /hello HTTP/1.1", "Accept: a/b\r\nAccept: c/d"],
      ["two request ids, as proxies add them", "GET /hello HTTP/1.1", "X-Request-Id: a\r\nX-Request-Id: b"],
      ["chunks", "POST /hello HTTP/1.1", "Transfer-Encoding: Chunked\r\n\r\n0"]
    ] as const
  ) {
    it.live(`accepts ${name}`, () =>
      Effect.gen(function*() {
        const response = yield* send(request(line, host, close, header))
        assert.deepStrictEqual([response.status, response.body], [200, "hello"])
      }).pipe(Effect.provide(served)))
  }

  it.live("of HTTP/1.0 needs no host, because load balancers send none", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* send("GET /hello HTTP/1.0\r\n\r\n")).status, 200)
    }).pipe(Effect.provide(served)))

  it.live("accepts a request that expects 100 Continue", () =>
    Effect.gen(function*() {
      const response = yield* send(
        request("POST /hello HTTP/1.1", host, close, "Expect: 100-continue", "Content-Length: 0")
      )
      assert.include([100, 200], response.status)
    }).pipe(Effect.provide(served)))
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
  const wait = request("GET /wait HTTP/1.1", host)

  it.live("after the first are not run, and the connection closes after its response", () =>
    Effect.gen(function*() {
      const post = `${request("POST /wait HTTP/1.1", host, "Content-Length: 2")}{}`
      for (const rest of [post, post.repeat(2000), "garbage\r\n\r\n", request("CONNECT x:1 HTTP/1.1", host)]) {
        const { arrived, open, routes, seen } = gated()
        const { ask } = yield* serve(routes)
        const received = yield* Effect.forkChild(ask(post + rest))
        yield* arrived
        yield* open
        assert.deepStrictEqual([statusesOf(yield* Fiber.join(received)), seen.begun], [[200], 1], rest.slice(0, 40))
        assert.strictEqual(closesOf(yield* Fiber.join(received)), 1)
      }
    }).pipe(Effect.scoped))

  it.live("are not run if they arrive while the response is prepared", () =>
    Effect.gen(function*() {
      const { arrived, open, routes, seen } = gated()
      const { open: connected, taken } = yield* serve(routes)
      const socket = connected()
      const received = yield* Effect.forkChild(textOf(socket), { startImmediately: true })
      socket.write(wait)
      yield* arrived
      socket.write(wait)
      yield* Effect.sync(() => taken[0]?.readableLength).pipe(Effect.repeat({ until: (length) => length !== 0 }))
      yield* open
      assert.deepStrictEqual([statusesOf(yield* Fiber.join(received)), seen.begun], [[200], 1])
      assert.strictEqual(closesOf(yield* Fiber.join(received)), 1)
    }).pipe(Effect.scoped))

  it.live("run after the response if they arrive when its headers have been sent", () =>
    Effect.gen(function*() {
      const { arrived, open, routes, seen } = gated()
      const begun = HttpRouter.use((router) =>
        router.add(
          "GET",
          "/begun",
          Effect.sync(() =>
            HttpServerResponse.stream(
              Stream.encodeText(Stream.concat(Stream.make("begun"), Stream.drain(Stream.fromEffect(released))))
            )
          )
        )
      )
      const gate = Deferred.makeUnsafe<void>()
      const released = Deferred.await(gate)
      const { open: connected, taken } = yield* serve(Layer.merge(routes, begun))
      const socket = connected()
      const received = yield* Effect.forkChild(textOf(socket), { startImmediately: true })
      const first = Effect.callback<void>((resume) => void socket.once("data", () => resume(Effect.void)))
      socket.write(request("GET /begun HTTP/1.1", host))
      yield* first
      socket.write(request("GET /wait HTTP/1.1", host, close))
      yield* Effect.sync(() => taken[0]?.readableLength).pipe(Effect.repeat({ until: (length) => length !== 0 }))
      assert.strictEqual(seen.begun, 0)
      yield* Deferred.done(gate, Exit.void)
      yield* arrived
      yield* open
      assert.deepStrictEqual(statusesOf(yield* Fiber.join(received)), [200, 200])
    }).pipe(Effect.scoped))

  it.live("are not parsed beyond 512 bytes", () =>
    Effect.gen(function*() {
      const { arrived, open, routes } = gated()
      const { ask } = yield* serve(routes)
      let parsed = 0
      const count = (message: unknown) => {
        const { request } = message as { readonly request: { readonly url: string } }
        if (request.url === "/wait") parsed++
      }
      subscribe("http.server.request.start", count)
      yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe("http.server.request.start", count)))
      const received = yield* Effect.forkChild(ask(wait.repeat(2000)))
      yield* arrived
      // Whatever the server would read on, it has read by now.
      for (let round = 0; round < 10; round++) yield* ask(request("GET /hello HTTP/1.1", host, close))
      yield* open
      yield* Fiber.join(received)
      assert.isAtMost(parsed, 512 / wait.length + 1)
      assert.isAtLeast(parsed, 2)
    }).pipe(Effect.scoped))

  it.live("do not start after a request that closes the connection", () =>
    Effect.gen(function*() {
      const { routes, seen } = gated()
      const { ask } = yield* serve(routes)
      const responses = yield* ask(request("GET /hello HTTP/1.1", host, close) + request("POST /wait HTTP/1.1", host))
      assert.deepStrictEqual(statusesOf(responses), [200])
      assert.strictEqual(seen.begun, 0)
    }).pipe(Effect.scoped))
})

describe("requests with bodies", () => {
  it.live("arrive complete, however their bytes are split", () =>
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
      const sizes = [0, 1, 440, 512, 1024, 5000, 60_000, 3, 2048]
      const texts = sizes.map((size, index) => {
        const last = index === sizes.length - 1 ? [close] : []
        return request("POST /size HTTP/1.1", host, `Content-Length: ${size}`, ...last) + "x".repeat(size)
      })
      for (const cut of [1, 60, 512, 1500, 70_000]) {
        const received = yield* converse(open(), texts, cut)
        assert.deepStrictEqual(Array.from(received.matchAll(/<(\d+)>/g), ([, size]) => Number(size)), sizes)
      }
    }).pipe(Effect.scoped))
})

describe("a large body", () => {
  /** The bytes of the first turn, and of the socket's buffer. */
  const turn_bytes_max = 131_072 + 2 * 65_536
  const drained = HttpRouter.use((router) =>
    router.add(
      "POST",
      "/drain",
      HttpServerRequest.HttpServerRequest.pipe(
        Effect.flatMap(({ stream }) => Stream.runDrain(stream)),
        Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(8_000_000)),
        Effect.as(HttpServerResponse.text("drained"))
      )
    )
  )
  for (
    const [name, path, status] of [["that is read", "/drain", 200], ["that is discarded", "/unknown", 404]] as const
  ) {
    it.live(`${name} leaves turns of the event loop to other connections`, () =>
      Effect.gen(function*() {
        const { ask, taken } = yield* serve(drained)
        const size = 4_000_000
        const received = yield* Effect.forkChild(
          ask(request(`POST ${path} HTTP/1.1`, host, close, `Content-Length: ${size}`) + "x".repeat(size))
        )
        let [bytes, most] = [0, 0]
        const turn = Effect.callback<void>((resume) => {
          setImmediate(() => {
            const { bytesRead = 0 } = taken[0] ?? {}
            most = Math.max(most, bytesRead - bytes)
            bytes = bytesRead
            resume(Effect.void)
          })
        })
        yield* Effect.repeat(turn, { until: () => bytes > size })
        assert.deepStrictEqual(statusesOf(yield* Fiber.join(received)), [status])
        assert.isAtMost(most, turn_bytes_max)
      }).pipe(Effect.scoped))
  }
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
