/** Admission: when a request begins, and how many responses are in preparation at once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { gated, statusesOf } from "./GatedRoute.ts"
import { close, closing, host, request, serve } from "./RawHttp.ts"

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
