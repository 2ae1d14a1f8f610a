/** A stop of the HTTP server: the responses that are in progress, and the connections that are closed. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { get, type IncomingMessage } from "node:http"
import { connect } from "node:net"
import { buffer } from "node:stream/consumers"
import * as Listener from "../../src/http/Listener.ts"
import { close, closing, hello, host, nextStatus, parsed, request, sendRaw } from "./RawHttp.ts"

describe("a server that stops", () => {
  /** A server whose responses wait, on a port of its own, and an effect that stops it. */
  const stopping = Effect.gen(function*() {
    const scope = yield* Scope.make()
    const arrived = Deferred.makeUnsafe<void>()
    const response = Deferred.makeUnsafe<void>()
    const wait = Effect.andThen(Deferred.done(arrived, Exit.void), Deferred.await(response))
    const rest = Stream.concat(Stream.make("begun"), Stream.drain(Stream.fromEffect(wait)))
    const routes = HttpRouter.use((router) =>
      Effect.andThen(
        router.add("GET", "/whole", Effect.as(wait, HttpServerResponse.text("hello"))),
        router.add("GET", "/stream", Effect.succeed(HttpServerResponse.stream(Stream.encodeText(rest))))
      )
    )
    const context = yield* HttpRouter.serve(Layer.merge(hello, routes), { disableLogger: true, disableListenLog: true })
      .pipe(
        Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
        Layer.buildWithScope(scope)
      )
    return {
      context,
      arrived: Deferred.await(arrived),
      response: Deferred.done(response, Exit.void),
      stop: Effect.suspend(() => Scope.close(scope, Exit.void))
    }
  })

  for (const [name, path, header] of [["whole", "/whole", "close"], ["in parts", "/stream", "keep-alive"]] as const) {
    it.live(`closes a connection after a response that is sent ${name}`, () =>
      Effect.gen(function*() {
        const { response, arrived, context, stop } = yield* stopping
        const asked = yield* Effect.forkChild(Effect.provide(sendRaw(request(`GET ${path} HTTP/1.1`, host)), context))
        yield* arrived
        const stopped = yield* Effect.forkChild(stop, { startImmediately: true })
        yield* response
        const text = yield* Fiber.join(asked)
        assert.strictEqual(parsed(text).headers.get("connection"), header)
        assert.include(text, path === "/whole" ? "hello" : "begun")
        yield* Fiber.join(stopped)
      }))
  }

  /** More than the buffers of a connection contain, and no part of it equals another. */
  const large = Buffer.from(Uint32Array.from({ length: 4_000_000 }, (_, index) => index).buffer)
  const parts = Stream.fromIterable(
    Array.from({ length: large.length / 64_000 }, (_, index) => large.subarray(index * 64_000, (index + 1) * 64_000))
  )
  const kinds = {
    "whole": HttpServerResponse.uint8Array(large),
    "in parts": HttpServerResponse.stream(parts, { contentLength: large.length }),
    "in parts of unknown number": HttpServerResponse.stream(parts)
  }

  for (const [name, response] of Object.entries(kinds)) {
    for (const connection of ["close", "keep-alive"]) {
      it.live(`sends a response to its end that exceeds the socket's buffer: ${name}, ${connection}`, () =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const routes = HttpRouter.use((router) => router.add("GET", "/large", Effect.succeed(response)))
          const context = yield* HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
            Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
            Layer.buildWithScope(scope)
          )
          const { hostname, port } = new URL(
            yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
          )
          const begun = Promise.withResolvers<IncomingMessage>()
          get({ hostname, port, path: "/large", agent: false, headers: { connection } }, begun.resolve)
          // Nothing of the body is read before the server stops.
          const incoming = yield* Effect.promise(() => begun.promise)
          const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
          assert.isTrue(large.equals(yield* Effect.promise(() => buffer(incoming))))
          yield* Fiber.join(stopped)
        }))
    }
  }

  it.live("closes a connection that waits for its next request", () =>
    Effect.gen(function*() {
      const { context, stop } = yield* stopping
      const url = new URL(yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
      const socket = connect(Number(url.port), url.hostname).on("error", () => {})
      const closed = yield* Effect.forkChild(closing(socket), { startImmediately: true })
      yield* nextStatus(socket, request("GET /hello HTTP/1.1", host))
      // The next response proves that the server has finished the first one.
      yield* nextStatus(socket, request("GET /hello HTTP/1.1", host))
      yield* stop
      yield* Fiber.join(closed)
    }))

  it.effect("closes a connection with half a request after 20 s", () =>
    Effect.gen(function*() {
      const { context, stop } = yield* stopping
      const url = new URL(yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
      const socket = connect(Number(url.port), url.hostname).on("error", () => {})
      const closed = yield* Effect.forkChild(closing(socket), { startImmediately: true })
      yield* Effect.callback<void>((resume) =>
        void socket.write(`GET /hello HTTP/1.1\r\nHos`, () => resume(Effect.void))
      )
      // Connections are accepted in their order, so this response proves that the server has the other one.
      yield* Effect.provide(sendRaw(request("GET /hello HTTP/1.1", host, close)), context)
      const stopped = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* TestClock.adjust("19 seconds")
      assert.isUndefined(stopped.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopped)
      yield* Fiber.join(closed)
    }))
})
