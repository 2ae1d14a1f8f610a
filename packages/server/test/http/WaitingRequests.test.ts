/** Requests that wait for events behind a socket: their responses begin at once, and end with the server. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { afterAll } from "vitest"
import { start } from "../../../adapter-http/testing/Service.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"

const service = start()
afterAll(() => service.stop())

/** Serves the service on a port of its own, until the scope ends. */
const serve = Effect.fnUntraced(function*(scope: Scope.Scope) {
  const core = yield* Effect.promise(() => service.runtime.context())
  const context = yield* Layers.api(Effect.succeed(true), { ingress: Layer.empty }).pipe(
    Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
    Layer.provide(Layer.succeedContext(core)),
    Layer.buildWithScope(scope)
  )
  return yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
})

it.live("a request that waits for events gets an empty page when the server stops", () =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const address = yield* serve(scope)
    const { key } = yield* Effect.promise(() => service.organization())
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
