import {
  canonicalJson,
  type EncodedResponse,
  Idempotency,
  type KeyedResponse,
  parseKey
} from "@messaging-crm/core/Idempotency"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Effect, Layer, Option, Schema } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { IdempotentWrites, RequestBody, rulesFor } from "../api/Pipeline.ts"
import * as EntityTags from "./EntityTags.ts"
import { bodyTextOf, CurrentKeyedRequest, toResponse } from "./Responses.ts"
import { pathOf, queryOf } from "./Routes.ts"

const toRecorded = (response: HttpServerResponse.HttpServerResponse): EncodedResponse => ({
  status: response.status,
  body: bodyTextOf(response)
})

/** Returns the response to record: that of a success, or of a rejection that the operation decided. */
const asRecorded = <E, R>(httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  httpEffect.pipe(
    Effect.map(toRecorded),
    Effect.catch((error): Effect.Effect<EncodedResponse, E> => {
      const status = Errors.recordedStatusOf(error)
      return status === undefined
        ? Effect.fail(error)
        : Effect.succeed({ status, body: JSON.stringify(error) })
    })
  )

const respond = ({ replayed, request_id, ...response }: KeyedResponse) =>
  toResponse(response, replayed ? { "idempotent-replayed": "true", "original-request-id": request_id } : {})

const normalizedQuery = (query: string): string =>
  query === "" ? "" : Array.from(new URLSearchParams(query), (pair) => pair.join("=")).toSorted().join("&")

/** Returns the path in lower case, because IDs are accepted in either case. */
const normalized = (path: string): string => path.toLowerCase()

/**
 * Returns the function that normalizes a body for its fingerprint: to the operation's input, in which IDs and texts are
 * normalized. No body is read as an empty one, and one that does not decode is left unchanged.
 */
const normalizerOf = ({ payload }: HttpApiEndpoint.Top): (json: unknown) => Effect.Effect<unknown> => {
  const [schema] = Array.from(payload.values()).flatMap(({ schemas }) => schemas)
  if (schema === undefined) return (json) => Effect.succeed(json ?? {})
  // No schema of the contract needs a service, although its type allows for one.
  const decode = Schema.decodeUnknownEffect(schema as Schema.Top & { readonly DecodingServices: never }, {
    onExcessProperty: "error"
  })
  // An effect, because phones are read with the default country of the caller.
  return (json = {}) => Effect.orElseSucceed(decode(json), () => json)
}

/** The rules of an endpoint's writes. */
interface WriteRules {
  readonly policy: "required" | "optional"
  /** Normalizes a body for its fingerprint. */
  readonly normalize: (json: unknown) => Effect.Effect<unknown>
}

/** Layer that runs a keyed write at most once and replays its response, byte for byte. */
export const layer = Layer.effect(
  IdempotentWrites,
  Effect.gen(function*() {
    const idempotency = yield* Idempotency
    const secrets = yield* Secrets
    const tags = yield* EntityTags.make

    const fingerprintOf = (request: HttpServerRequest.HttpServerRequest, input: unknown) =>
      secrets.sha256(
        [request.method, normalized(pathOf(request)), normalizedQuery(queryOf(request)), canonicalJson(input)].join(
          "\n"
        )
      )

    const runOnce = Effect.fnUntraced(function*<E, R>(
      httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      { normalize, policy }: WriteRules
    ) {
      const { flaw, json } = yield* RequestBody
      const request = yield* HttpServerRequest.HttpServerRequest
      const header = request.headers["idempotency-key"]
      const isAbsent = header === undefined && policy === "optional"
      const key = parseKey(header ?? "")
      if (!isAbsent && Option.isNone(key)) return yield* Errors.failWith(Texts.missingIdempotencyKey)
      // Only now, so that a write without its key fails with `missing_idempotency_key`, whatever its body is.
      if (flaw !== null) return yield* Errors.failWith(flaw)
      if (Option.isNone(key)) return yield* ErrorMapping.withinWriteTime(httpEffect, false)
      const keyed = idempotency.once(
        {
          key: key.value,
          fingerprint: yield* fingerprintOf(request, yield* normalize(json)),
          request_id: yield* Errors.requestId
        },
        (request) => asRecorded(Effect.provideService(httpEffect, CurrentKeyedRequest, request))
      )
      return respond(yield* ErrorMapping.translate(ErrorMapping.withinWriteTime(keyed, true)))
    })

    return IdempotentWrites.of((httpEffect, { endpoint }) => {
      const { idempotency: policy } = rulesFor(endpoint)
      if (policy === null) return httpEffect
      // Here, because a replay also has the tag.
      return Effect.flatMap(
        runOnce(httpEffect, { policy, normalize: normalizerOf(endpoint) }),
        (response) => tags.tagWrite(endpoint, response)
      )
    })
  })
)
