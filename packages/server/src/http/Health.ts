import * as SharedResult from "@messaging-crm/adapter-http/SharedResult"
import { HostClockOffset, warningOf } from "@messaging-crm/adapter-postgres/Clock"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/** Whether a process can serve the organizations of a database. */
export interface Readiness {
  readonly status: "ok" | "degraded" | "unavailable"
  readonly reason?: string
  readonly paused_channels?: number
  readonly warning?: string
}

/** The time after which a database counts as unavailable. */
const silence_max = "2 seconds"

/**
 * Makes the check of a database. Ready: the database is usable and accepts writes, and a key of `SECRET_KEY` decrypts its
 * secrets, or `reason` names the problem. A host clock that is more than a second off is a warning. `degraded` counts
 * as ready: some channels are paused, and everything else works. A check ends after 2 seconds.
 */
export const makeReadiness = Effect.fnUntraced(function*(isReady: Effect.Effect<boolean>) {
  const canary = yield* SecretCanary
  const holds = yield* ChannelHolds
  const offset = yield* Effect.serviceOption(HostClockOffset)
  return Effect.suspend(() => {
    let found: Readiness = { status: "unavailable" }
    const check = Effect.gen(function*() {
      if (!(yield* isReady)) return
      if (!(yield* canary.isReadable)) {
        found = { status: "unavailable", reason: "secret_key" }
        return
      }
      const warning = Option.isNone(offset) ? Option.none() : warningOf(yield* offset.value)
      const warned = Option.isSome(warning) ? { warning: warning.value } : {}
      // If the count fails, the process is still ready.
      found = { status: "ok", ...warned }
      const paused_channels = yield* holds.countPaused
      if (paused_channels > 0) found = { status: "degraded", paused_channels, ...warned }
    })
    return check.pipe(
      Effect.timeout(silence_max),
      Effect.catchCause(() => Effect.void),
      Effect.map(() => found)
    )
  })
})

const respond = (readiness: Readiness) =>
  HttpServerResponse.jsonUnsafe(
    readiness,
    readiness.status === "unavailable" ? { status: 503, headers: { "retry-after": "1" } } : {}
  )

/** Layer for `/health/live` (the process runs) and `/health/ready`, which need no key. */
export const layerOver = (readiness: Effect.Effect<Readiness>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const ready = yield* SharedResult.make(Effect.map(readiness, respond), "100 millis")
    yield* router.add("GET", "/health/live", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
    yield* router.add("GET", "/health/ready", Effect.withTracerEnabled(ready, false))
  }))

/** Layer for `/health/live` and `/health/ready` of a process with one database. */
export const layer = (isReady: Effect.Effect<boolean>) => Layer.unwrap(Effect.map(makeReadiness(isReady), layerOver))
