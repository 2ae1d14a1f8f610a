/** A route whose responses wait, for tests of requests in progress. */
import { Deferred, Effect, Exit } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/** A route whose responses wait, and effects that wait until so many requests have arrived. */
export const gated = (count = 1) => {
  const arrived = Deferred.makeUnsafe<void>()
  const gate = Deferred.makeUnsafe<void>()
  const left = Deferred.makeUnsafe<void>()
  const seen = { begun: 0, running: 0, most: 0 }
  const response = Effect.gen(function*() {
    seen.begun++
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

/** Returns the statuses of the responses in a text. */
export const statusesOf = (text: string) =>
  Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))

/** Returns how many responses in a text close the connection. */
export const closesOf = (text: string) => Array.from(text.matchAll(/^connection: close\r$/gim)).length
