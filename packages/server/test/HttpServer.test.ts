/** The edge of the HTTP server, asked through raw sockets: what no HTTP client would send. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schedule, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { connect, type Socket } from "node:net"
import { createHttpServer } from "../src/http/HttpServer.ts"
import { close, closing, host, nextStatus, request, send, sendRaw, serve, served, uuid } from "./RawHttp.ts"

describe("a request that reaches no route", () => {
  for (
    const [name, text, status, code] of [
      [
        "headers beyond 16 KiB",
        request(`GET /hello?cursor=${"x".repeat(17_000)} HTTP/1.1`, host),
        431,
        "headers_too_large"
      ],
      [
        "a key beyond 16 KiB",
        request("GET /hello HTTP/1.1", host, `Idempotency-Key: ${"x".repeat(17_000)}`),
        431,
        "headers_too_large"
      ],
      [
        "an expectation",
        request("POST /hello HTTP/1.1", host, "Expect: 200-maybe", "Content-Length: 0"),
        417,
        "expectation_failed"
      ],
      ["no HTTP", "hello\r\n\r\n", 400, "invalid_input"],
      ["an unknown method", request("FOO /hello HTTP/1.1", host), 400, "invalid_input"],
      ["HTTP/2 in plain text", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "invalid_input"],
      [
        "two lengths",
        request("POST /hello HTTP/1.1", host, "Content-Length: 2", "Transfer-Encoding: chunked"),
        400,
        "invalid_input"
      ],
      ["no host", request("GET /hello HTTP/1.1"), 400, "invalid_input"],
      ["two hosts", request("GET /hello HTTP/1.1", host, "Host: other.example"), 400, "invalid_input"],
      ["two hosts that are the same", request("GET /hello HTTP/1.1", host, host), 400, "invalid_input"],
      [
        "two hosts, and a body that waits for 100 Continue",
        request("POST /hello HTTP/1.1", host, host, "Expect: 100-continue", "Content-Length: 5"),
        400,
        "invalid_input"
      ],
      ["a tunnel", request("CONNECT crm.example:443 HTTP/1.1", host), 405, "method_not_allowed"],
      [
        "a tunnel with a body",
        request("CONNECT crm.example:443 HTTP/1.1", host, "Content-Length: 5"),
        405,
        "method_not_allowed"
      ],
      ["a host that is no name", request("GET /hello HTTP/1.1", "Host: ["), 400, "invalid_input"],
      ["an empty host", request("GET /hello HTTP/1.1", "Host:"), 400, "invalid_input"],
      ["a host without a name", request("GET /hello HTTP/1.1", "Host: :8080"), 400, "invalid_input"],
      ["a port out of range", request("GET /hello HTTP/1.1", "Host: crm.example:99999"), 400, "invalid_input"],
      ["a host that is no address", request("GET /hello HTTP/1.1", "Host: 1.2.3.4.5"), 400, "invalid_input"],
      ["a host with a path", request("GET /hello HTTP/1.1", "Host: crm.example/v1"), 400, "invalid_input"],
      ["another version", request("GET /hello HTTP/2.0", host), 400, "invalid_input"],
      ["a target whose host is no name", request("GET http://[/hello HTTP/1.1", host), 400, "invalid_input"],
      ["a target of another host", request("GET http://other.example/hello HTTP/1.1", host), 400, "invalid_input"],
      ["a target with a fragment", request("GET /hello#a=b HTTP/1.1", host), 400, "invalid_input"],
      ["a target of another kind", request("GET * HTTP/1.1", host), 400, "invalid_input"],
      [
        "two idempotency keys",
        request("POST /hello HTTP/1.1", host, "Idempotency-Key: order-4711", "idempotency-key: order-4711"),
        400,
        "invalid_input"
      ],
      [
        "two API keys",
        request("GET /hello HTTP/1.1", host, "Authorization: Bearer a", "Authorization: Bearer b"),
        400,
        "invalid_input"
      ],
      [
        "two media types",
        request("POST /hello HTTP/1.1", host, "Content-Type: application/json", "Content-Type: text/plain"),
        400,
        "invalid_input"
      ],
      [
        "a compressed transfer",
        request("POST /hello HTTP/1.1", host, "Transfer-Encoding: gzip, chunked"),
        400,
        "invalid_input"
      ],
      [
        "two transfer codings",
        request("POST /hello HTTP/1.1", host, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        400,
        "invalid_input"
      ],
      [
        "chunks of HTTP/1.0",
        request("POST /hello HTTP/1.0", host, "Transfer-Encoding: chunked"),
        400,
        "invalid_input"
      ]
    ] as const
  ) {
    it.live(`gets the error envelope with a request ID: ${name}`, () =>
      Effect.gen(function*() {
        const response = yield* send(text)
        assert.strictEqual(response.status, status)
        const { error } = JSON.parse(response.body)
        assert.strictEqual(error.code, code)
        assert.isNotEmpty(error.message)
        const params = ["Authorization", "Content-Length", "Content-Type", "Expect", "Host", "idempotency-key"]
        assert.include([null, ...params, "Transfer-Encoding"], error.param)
        assert.match(error.request_id, uuid)
        assert.strictEqual(response.headers.get("x-request-id"), error.request_id)
        assert.strictEqual(response.headers.get("content-type"), "application/json")
        assert.strictEqual(response.headers.get("cache-control"), "no-store")
        assert.strictEqual(response.headers.get("connection"), "close")
      }).pipe(Effect.provide(served)))
  }

  for (
    const [param, ...headers] of [
      ["Content-Length", "Content-Length: 2", "Content-Length: 2"],
      ["Content-Length", "Content-Length: two"],
      ["Content-Length", "Transfer-Encoding: chunked", "Content-Length: 2"],
      ["Transfer-Encoding", "Transfer-Encoding: gzip"],
      ["Transfer-Encoding", "Transfer-Encoding: identity"],
      ["Transfer-Encoding", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]
    ] as const
  ) {
    it.live(`gets an error that names the invalid header: ${headers.join(", ")}`, () =>
      Effect.gen(function*() {
        const response = yield* send(request("POST /hello HTTP/1.1", host, ...headers))
        assert.strictEqual(response.status, 400)
        assert.strictEqual(JSON.parse(response.body).error.param, param)
      }).pipe(Effect.provide(served)))
  }

  it.live("keeps the request ID of its header", () =>
    Effect.gen(function*() {
      const response = yield* send(request("GET /hello HTTP/1.1", "X-Request-Id: mine-1"))
      assert.strictEqual(JSON.parse(response.body).error.request_id, "mine-1")
    }).pipe(Effect.provide(served)))
})

describe("a connection", () => {
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

describe("a body that arrives after the response", () => {
  it.live("keeps its connection, up to a limit", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(Layer.empty, { unread_max: 2 })
      const post = request("POST /hello HTTP/1.1", host, "Content-Length: 5")
      const sockets = Array.from({ length: 4 }, open)
      const closed = sockets.map(closing)
      const [first, second] = yield* Effect.forEach(closed, (wait) => Effect.forkChild(wait))
      const responses = yield* Effect.forEach(sockets, (socket) => nextStatus(socket, post))
      assert.deepStrictEqual(responses, ["200", "200", "200", "200"])
      for (const one of [first, second]) if (one !== undefined) yield* Fiber.join(one)
      // The others send the rest, and ask again over the same connection.
      for (const socket of sockets.slice(2)) {
        assert.strictEqual(yield* nextStatus(socket, `hello${hello}`), "200")
        socket.destroy()
      }
    }).pipe(Effect.scoped))
})
