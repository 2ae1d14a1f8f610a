import { HostClockOffset, warningOf } from "@messaging-crm/adapter-postgres/Clock"
import { Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/**
 * Layer for `/health/live` and `/health/ready`, which need no key. Live: the
 * process runs. Ready: the database is usable; a host clock that is more than a
 * second off is reported as a warning.
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
