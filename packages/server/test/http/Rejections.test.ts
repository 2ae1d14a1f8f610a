/** Requests that the HTTP server rejects before a route gets them, sent over raw sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { gated } from "./GatedRoute.ts"
import { close, host, parsed, request, send, serve, served, type TestResponse, textOf, uuid } from "./RawHttp.ts"

/** Checks the headers that every rejection has. */
const checkHeaders = ({ body, headers }: TestResponse) => {
  const { request_id } = JSON.parse(body).error
  assert.match(request_id, uuid)
  assert.strictEqual(headers.get("x-request-id"), request_id)
  assert.strictEqual(headers.get("content-type"), "application/json")
  assert.strictEqual(headers.get("cache-control"), "no-store")
  assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  assert.strictEqual(headers.get("connection"), "close")
}

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
      [
        "headers of one byte more than 16 KiB",
        request("GET /hello HTTP/1.1", host, `X-Filler: ${"x".repeat(16_385 - 54)}`),
        431,
        "headers_too_large"
      ],
      ["a method in lower case", request("get /hello HTTP/1.1", host), 405, "method_not_allowed"],
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
        checkHeaders(response)
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

  it.live("has more than 16,384 bytes before its body, however they are written", () =>
    Effect.gen(function*() {
      for (const bytes of [16_383, 16_384, 16_385, 16_400, 60_000]) {
        const texts = [
          (filler: string) => request("GET /hello HTTP/1.1", host, close, `X-Filler: ${filler}`),
          (filler: string) => request("GET /hello HTTP/1.1", host, close, `X-Filler:${filler}`),
          (filler: string) => request("GET /hello HTTP/1.1", host, close, `X-Filler:${" ".repeat(filler.length)}`),
          (filler: string) => request("GET /hello HTTP/1.1", host, close, `X-Filler: x${" ".repeat(filler.length)}`),
          (filler: string) => request(`GET /hello?${filler} HTTP/1.1`, host, close),
          (filler: string) =>
            request(
              "GET /hello HTTP/1.1",
              host,
              close,
              ...Array.from({ length: 90 }, (_, n) => `x${n}:`),
              `y:${filler}`
            ),
          (filler: string) => "\r\n".repeat(20) + request("GET /hello HTTP/1.1", host, close, `X-Filler: ${filler}`)
        ]
        for (const text of texts) {
          const head = text("x".repeat(bytes - text("").length))
          assert.lengthOf(head, bytes)
          const expected = bytes > 16_384 ? 431 : 200
          assert.strictEqual((yield* send(head)).status, expected, head.slice(0, 60))
        }
      }
    }).pipe(Effect.provide(served)))

  it.live("keeps the request ID of its header", () =>
    Effect.gen(function*() {
      const response = yield* send(request("GET /hello HTTP/1.1", "X-Request-Id: mine-1"))
      assert.strictEqual(JSON.parse(response.body).error.request_id, "mine-1")
    }).pipe(Effect.provide(served)))
})

describe("a request that does not arrive in time", () => {
  for (
    const [name, text] of [
      ["its headers", "GET /hello HTTP/1.1\r\nHost"],
      ["its body", request("POST /wait HTTP/1.1", host, "Transfer-Encoding: chunked")]
    ] as const
  ) {
    it.live(`gets 408: ${name}`, () =>
      Effect.gen(function*() {
        const { open, server } = yield* serve(gated().routes)
        assert.deepStrictEqual([server.headersTimeout, server.requestTimeout], [10_000, 20_000])
        server.headersTimeout = 1
        server.requestTimeout = 1
        const socket = open()
        socket.write(text)
        const response = parsed(yield* textOf(socket))
        assert.strictEqual(response.status, 408)
        assert.strictEqual(JSON.parse(response.body).error.code, "request_timeout")
        checkHeaders(response)
      }).pipe(Effect.scoped))
  }
})

describe("a request above the limit of requests in progress", () => {
  it.live("gets 503 with the headers of every rejection", () =>
    Effect.gen(function*() {
      const { ask } = yield* serve(Layer.empty, { requests_max: 0 })
      const response = parsed(yield* ask(request("GET /hello HTTP/1.1", host)))
      assert.strictEqual(response.status, 503)
      assert.strictEqual(response.headers.get("retry-after"), "1")
      checkHeaders(response)
    }).pipe(Effect.scoped))
})
