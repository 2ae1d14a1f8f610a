import * as SharedResult from "@messaging-crm/adapter-http/SharedResult"
import { HostClockOffset, warningOf } from "@messaging-crm/adapter-postgres/Clock"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

const unavailable = (details: Readonly<Record<string, string>>) =>
  HttpServerResponse.jsonUnsafe({ status: "unavailable", ...details }, { status: 503, headers: { "retry-after": "1" } })

/**
 * Layer for `/health/live` and `/health/ready`, which need no key. Live: the
 * process runs. Ready: the database is usable and accepts writes, and a key of `SECRET_KEY` decrypts its
 * secrets, or `reason` names the problem. A host clock that is more than a second off is a warning. `degraded` counts
 * as ready: some channels are paused, and everything else works.
 */
export const layer = (isReady: Effect.Effect<boolean>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const canary = yield* SecretCanary
    const holds = yield* ChannelHolds
    const offset = yield* Effect.serviceOption(HostClockOffset)
    const countPaused = holds.countPaused.pipe(
      Effect.timeout("2 seconds"),
      // If the count fails, the process is still ready.
      Effect.catchCause(() => Effect.succeed(0))
    )
    const ready = yield* SharedResult.make(
      Effect.gen(function*() {
        if (!(yield* isReady)) return unavailable({})
        if (!(yield* canary.isReadable)) return unavailable({ reason: "secret_key" })
        const paused_channels = yield* countPaused
        const warning = Option.isNone(offset) ? Option.none() : warningOf(yield* offset.value)
        return HttpServerResponse.jsonUnsafe({
          ...(paused_channels === 0 ? { status: "ok" } : { status: "degraded", paused_channels }),
          ...Option.isSome(warning) && { warning: warning.value }
        })
      }),
      "100 millis"
    )
    yield* router.add("GET", "/health/live", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
    yield* router.add("GET", "/health/ready", Effect.withTracerEnabled(ready, false))
  }))
