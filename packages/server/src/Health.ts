import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/**
 * Layer for `/health/live` and `/health/ready`, which need no key: the process
 * runs; it can also do its work.
 */
export const layer = (isReady: Effect.Effect<boolean>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    yield* router.add("GET", "/health/live", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
    yield* router.add(
      "GET",
      "/health/ready",
      Effect.map(Effect.withTracerEnabled(isReady, false), (ready) =>
        ready
          ? HttpServerResponse.jsonUnsafe({ status: "ok" })
          : HttpServerResponse.jsonUnsafe({ status: "unavailable" }, { status: 503 }))
    )
  }))
