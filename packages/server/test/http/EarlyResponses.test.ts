/** Responses that are sent before the body of their request has arrived. */
import { assert, describe, it } from "@effect/vitest"
import { ByteSize, Deferred, Effect, Exit } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { closesOf, statusesOf } from "./GatedRoute.ts"
import { host, request, serve } from "./RawHttp.ts"

/** Routes that respond without reading the body, and after a part of it. */
const routes = HttpRouter.use((router) =>
  Effect.andThen(
    router.add("POST", "/early", HttpServerResponse.text("early", { status: 401 })),
    router.add(
      "POST",
      "/part",
      Effect.gen(function*() {
        const { arrayBuffer } = yield* HttpServerRequest.HttpServerRequest
        yield* Effect.exit(arrayBuffer)
        return HttpServerResponse.text("part", { status: 413 })
      }).pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(1000)))
    )
  )
)

const chunked = "Transfer-Encoding: chunked"
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`

describe("a response before the end of its request", () => {
  for (
    const [name, text, status] of [
      ["a declared body", request("POST /early HTTP/1.1", host, "Content-Length: 5"), 401],
      ["a body of which a part has arrived", `${request("POST /early HTTP/1.1", host, "Content-Length: 9")}hell`, 401],
      ["a chunked body", request("POST /early HTTP/1.1", host, chunked) + chunk(5), 401],
      ["a chunked body that is too large", request("POST /part HTTP/1.1", host, chunked) + chunk(2000), 413],
      [
        "a body that waits for 100 Continue",
        request("POST /early HTTP/1.1", host, "Expect: 100-continue", "Content-Length: 5"),
        401
      ],
      ["a body at an unknown path", request("POST /unknown HTTP/1.1", host, "Content-Length: 5"), 404],
      ["a body of a GET", request("GET /hello HTTP/1.1", host, "Content-Length: 5"), 200],
      ["a repeated header", request("POST /early HTTP/1.1", host, host, "Content-Length: 5"), 400],
      ["an expectation", request("POST /early HTTP/1.1", host, "Expect: nothing", "Content-Length: 5"), 417]
    ] as const
  ) {
    it.live(`is the only one of its connection, which the server ends: ${name}`, () =>
      Effect.gen(function*() {
        const { ask } = yield* serve(routes)
        // Until the connection is closed: its client sends nothing more.
        const received = yield* ask(text)
        assert.deepStrictEqual(statusesOf(received).filter((one) => one !== 100), [status])
        assert.strictEqual(closesOf(received), 1)
      }).pipe(Effect.scoped))
  }

  it.live("arrives although the client sends megabytes before it reads", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(routes)
      for (
        const head of [
          request("POST /early HTTP/1.1", host, "Content-Length: 4000000"),
          request("POST /early HTTP/1.1", host, host, "Content-Length: 4000000"),
          request("FOO /early HTTP/1.1", host, "Content-Length: 4000000")
        ]
      ) {
        const received = yield* Effect.callback<string>((resume) => {
          let all = ""
          const socket = open().pause().setEncoding("utf8")
          socket.on("data", (chunk: string) => all += chunk)
          socket.once("close", () => resume(Effect.succeed(all)))
          socket.write(head + "x".repeat(4_000_000), () => socket.resume())
        })
        assert.lengthOf(statusesOf(received), 1, head)
      }
    }).pipe(Effect.scoped))

  it.live("starts no request that follows the rest of the body", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const counted = HttpRouter.use((router) =>
        router.add(
          "POST",
          "/counted",
          Effect.sync(() => {
            seen.push("counted")
            return HttpServerResponse.text("counted")
          })
        )
      )
      const { open } = yield* serve(counted)
      const next = request("POST /counted HTTP/1.1", host, "Content-Length: 0")
      const received = yield* Effect.callback<string>((resume) => {
        let all = ""
        const socket = open().setEncoding("utf8")
        socket.on("data", (chunk: string) => {
          all += chunk
          socket.write(`hello${next}`)
        })
        socket.once("close", () => resume(Effect.succeed(all)))
        socket.write(request("POST /unknown HTTP/1.1", host, "Content-Length: 5"))
      })
      assert.deepStrictEqual(statusesOf(received), [404])
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.scoped))
})

describe("a response after the end of its request", () => {
  it.live("keeps the connection, also if no route has read the body", () =>
    Effect.gen(function*() {
      const { open } = yield* serve(routes)
      const post = `${request("POST /early HTTP/1.1", host, "Content-Length: 5")}hello`
      const second = Deferred.makeUnsafe<string>()
      let all = ""
      const socket = open().setEncoding("utf8")
      socket.on("data", (chunk: string) => {
        all += chunk
        if (statusesOf(all).length === 1) socket.write(post)
        else Deferred.doneUnsafe(second, Exit.succeed(all))
      })
      socket.write(post)
      const received = yield* Deferred.await(second)
      assert.deepStrictEqual([statusesOf(received), closesOf(received)], [[401, 401], 0])
      socket.destroy()
    }).pipe(Effect.scoped))
})
