import { CurrentActor } from "@messaging-crm/core/Actor"
import {
  ApiKeys,
  type Authentication as Authenticated,
  type Quota,
  type RateLimited,
  type Unauthorized,
  window_seconds
} from "@messaging-crm/core/ApiKeys"
import { DefaultCountry } from "@messaging-crm/core/Countries"
import { limits } from "@messaging-crm/core/Limits"
import { authorize, rulesOf } from "@messaging-crm/core/Operations"
import { CurrentTurn, Turns } from "@messaging-crm/core/Turns"
import { Context, Effect, Layer, type Redacted } from "effect"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { Authentication, operationOf } from "../api/Pipeline.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as Deprecation from "./Deprecation.ts"
import { addResponseHeaders } from "./Headers.ts"
import { identify } from "./RequestLog.ts"
import * as UnknownKeys from "./UnknownKeys.ts"

/** The maximum number of concurrent requests of a key in a process. A reference, so that an operator can change it. */
export const RequestsAtOnce = Context.Reference<number>(
  "@messaging-crm/adapter-http/middleware/Authentication/RequestsAtOnce",
  {
    defaultValue: () => limits.requests_at_once
  }
)

/**
 * The caller of a request that a program in this process sends without an API key, such as the console for a member whose session
 * it has checked. Null for every request that arrives over HTTP, because no part of a request can set it.
 */
export const InProcessCaller = Context.Reference<Pick<Authenticated, "actor" | "default_country"> | null>(
  "@messaging-crm/adapter-http/middleware/Authentication/InProcessCaller",
  { defaultValue: () => null }
)

/** Adds how much of the window is left to the response, in the usual headers and in those of the IETF draft. */
const addQuotaHeaders = ({ limit, remaining, reset_seconds, seconds_left }: Quota) =>
  addResponseHeaders({
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(reset_seconds),
    "ratelimit-policy": `"default";q=${limit};w=${window_seconds}`,
    "ratelimit": `"default";r=${remaining};t=${seconds_left}`
  })

const reject = Effect.fnUntraced(function*(error: Unauthorized | RateLimited) {
  if (error._tag === "Unauthorized") {
    yield* addResponseHeaders({ "www-authenticate": "Bearer" })
    return yield* Errors.failWith(Texts.unauthorized)
  }
  yield* identify(error)
  yield* addQuotaHeaders(error.quota)
  const { limit, seconds_left } = error.quota
  return yield* Errors.failUntil(Texts.rateLimited(limit, seconds_left), seconds_left)
})

/** Layer that authenticates a request by its bearer key, and provides its actor to the steps after it. */
export const layer = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const apiKeys = yield* ApiKeys
    const turns = new Turns<string>({ places: Infinity, share: yield* RequestsAtOnce })
    const lookUp = UnknownKeys.make(limits.unknown_keys_at_once)

    /** Authenticates a key, and adds the state of its limit to the response. */
    const authenticateKey = Effect.fnUntraced(function*(credential: Redacted.Redacted) {
      const lookedUp = Effect.flatMap(
        apiKeys.digest(credential),
        (digest) => lookUp({ digest, address: clientAddress }, apiKeys.authenticate(digest))
      )
      const authenticated = yield* Effect.catch(lookedUp, reject)
      yield* addQuotaHeaders(authenticated.quota)
      return authenticated
    })

    return Authentication.of({
      bearer: Effect.fnUntraced(function*(httpEffect, { credential, endpoint }) {
        const runs = operationOf(endpoint)
        const deprecation = runs === null ? undefined : rulesOf(runs).deprecation
        if (deprecation !== undefined) yield* addResponseHeaders(Deprecation.headersOf(deprecation))
        const { actor, default_country } = (yield* InProcessCaller) ?? (yield* authenticateKey(credential))
        yield* identify(actor)
        const turn = actor.key_id ?? actor.member_id ?? actor.organization_id
        const authorized = runs === null
          ? httpEffect
          : authorize(runs).pipe(ErrorMapping.translate, Effect.andThen(turns.run(turn, httpEffect)))
        // Not as one context: merging it would copy the context of every request.
        return yield* authorized.pipe(
          Effect.provideService(CurrentActor, actor),
          Effect.provideService(DefaultCountry, default_country),
          Effect.provideService(CurrentTurn, actor.organization_id)
        )
      })
    })
  })
)
