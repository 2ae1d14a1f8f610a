import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, type Quota, type RateLimited, type Unauthorized } from "@messaging-crm/core/ApiKeys"
import type { ApiKeyId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { authorize } from "@messaging-crm/core/Operations"
import { Clock, Context, Effect, Layer } from "effect"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { Authentication, Runs } from "../api/Pipeline.ts"
import { identify } from "./Caller.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as ConcurrencyLimiter from "./ConcurrencyLimiter.ts"
import { addResponseHeaders } from "./Headers.ts"
import * as UnknownKeyLimiter from "./UnknownKeyLimiter.ts"

/** How much of the window is left, in the usual headers and in those of the IETF draft. */
const rateHeaders = ({ limit, remaining, reset_seconds }: Quota, now_millis: number) => {
  // The end is rounded up, and the store's clock can differ from this one, so the rest is limited to the window.
  const rest_seconds = Math.min(60, Math.max(0, Math.ceil(reset_seconds - now_millis / 1000)))
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(reset_seconds),
    "ratelimit-policy": `"default";q=${limit};w=60`,
    "ratelimit": `"default";r=${remaining};t=${rest_seconds}`
  }
}

const announce = (quota: Quota) =>
  Effect.flatMap(Clock.currentTimeMillis, (now_millis) => addResponseHeaders(rateHeaders(quota, now_millis)))

const reject = Effect.fnUntraced(function*(error: Unauthorized | RateLimited) {
  if (error._tag === "Unauthorized") {
    yield* addResponseHeaders({ "www-authenticate": "Bearer" })
    return yield* Errors.failWith(Texts.unauthorized)
  }
  yield* identify(error)
  yield* announce(error.quota)
  const { quota, retry_after_seconds } = error
  return yield* Errors.failUntil(Texts.rateLimited(quota.limit, retry_after_seconds), retry_after_seconds)
})

/** Layer that authenticates a request by its bearer key, and provides its actor to the steps after it. */
export const layer = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const apiKeys = yield* ApiKeys
    const limiter = ConcurrencyLimiter.make<ApiKeyId>(yield* ConcurrencyLimiter.RequestsAtOnce)
    const limitUnknownKeys = UnknownKeyLimiter.make(limits.unknown_keys_at_once)

    return Authentication.of({
      bearer: Effect.fnUntraced(function*(httpEffect, { credential, endpoint }) {
        const lookedUp = Effect.flatMap(
          apiKeys.digest(credential),
          (digest) => limitUnknownKeys({ digest, address: clientAddress }, apiKeys.authenticate(digest))
        )
        const { actor, key_id, quota } = yield* Effect.catch(lookedUp, reject)
        yield* identify(actor)
        yield* announce(quota)
        const authorized = authorize(Context.getUnsafe(endpoint.annotations, Runs)).pipe(
          Effect.catch(Errors.insufficientScope),
          Effect.andThen(limiter.run(key_id, httpEffect))
        )
        return yield* Effect.provideService(authorized, CurrentActor, actor)
      })
    })
  })
)
