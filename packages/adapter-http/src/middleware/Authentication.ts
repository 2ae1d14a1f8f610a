import { CurrentActor } from "@messaging-crm/core/Actor"
import {
  ApiKeys,
  type InsufficientScope,
  type Quota,
  type RateLimited,
  type Unauthorized
} from "@messaging-crm/core/ApiKeys"
import type { ApiKeyId } from "@messaging-crm/core/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import * as Errors from "../api/Errors.ts"
import { Authentication, RequiredScope } from "../api/Pipeline.ts"
import { answerWith } from "./Headers.ts"
import * as Turns from "./Turns.ts"

/** How much of the window is left, in the usual headers and in those of the IETF draft. */
const rateHeaders = ({ limit, remaining, reset_seconds }: Quota, now_millis: number) => {
  // The end is rounded up, and of a clock that need not be ours: the rest is kept within the window.
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
  Effect.flatMap(Clock.currentTimeMillis, (now_millis) => answerWith(rateHeaders(quota, now_millis)))

const refuse = Effect.fnUntraced(function*(error: Unauthorized | RateLimited | InsufficientScope) {
  if (error._tag === "Unauthorized") {
    yield* answerWith({ "www-authenticate": "Bearer" })
    return yield* Errors.fail(
      "unauthorized",
      "The API key is missing, malformed, expired or revoked, or its creator may no longer hold keys."
    )
  }
  yield* announce(error.quota)
  if (error._tag === "InsufficientScope") {
    return yield* Errors.fail("insufficient_scope", `This operation needs a key with the scope ${error.required}.`)
  }
  const { quota, retry_after_seconds } = error
  return yield* Errors.failUntil(
    "rate_limited",
    `More than ${quota.limit} requests this minute with this key. Wait ${retry_after_seconds} s.`,
    retry_after_seconds
  )
})

const tooMany = (at_once: number) =>
  Errors.failUntil(
    "rate_limited",
    `More than ${at_once} requests at once with this key. Wait until some are answered.`,
    1
  )

/** Layer that lets a request in by its bearer key, and tells everything after it for whom it speaks. */
export const layer = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const apiKeys = yield* ApiKeys
    const at_once = yield* Turns.RequestsAtOnce
    const turns = Turns.make<ApiKeyId>(at_once)
    const refused = tooMany(at_once)

    return Authentication.of({
      bearer: (httpEffect, { credential, endpoint }) =>
        Effect.matchEffect(apiKeys.authenticate(credential, Context.getUnsafe(endpoint.annotations, RequiredScope)), {
          onFailure: refuse,
          onSuccess: ({ actor, key_id, quota }) =>
            Effect.andThen(
              announce(quota),
              turns.carryOut(key_id, Effect.provideService(httpEffect, CurrentActor, actor), refused)
            )
        })
    })
  })
)
