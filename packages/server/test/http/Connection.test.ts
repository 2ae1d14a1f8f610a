/** One connection: its requests in turn, its failures, and what others notice of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { gated, statusesOf } from "./GatedRoute.ts"
import { close, closing, host, request, send, sendRaw, serve, served } from "./RawHttp.ts"

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
