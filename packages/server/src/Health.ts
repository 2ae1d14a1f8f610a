import { HostClockOffset, warningOf } from "@messaging-crm/adapter-postgres/Clock"
import { Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/**
 * Layer for `/health/live` and `/health/ready`, which need no key: the process
 * runs; it can also do its work, though a clock that is off is told.
 */
export const layer = (isReady: Effect.Effect<boolean>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const offset = yield* Effect.serviceOption(HostClockOffset)
    const ready = Effect.gen(function*() {
      if (!(yield* isReady)) return HttpServerResponse.jsonUnsafe({ status: "unavailable" }, { status: 503 })
      const warning = Option.isNone(offset) ? Option.none() : warningOf(yield* offset.value)
      return HttpServerResponse.jsonUnsafe({ status: "ok", ...Option.isSome(warning) && { warning: warning.value } })
    })
    yield* router.add("GET", "/health/live", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
    yield* router.add("GET", "/health/ready", Effect.withTracerEnabled(ready, false))
  }))
