import { Ids } from "@messaging-crm/core/Ids"
import { Cause, Clock, Context, Duration, Effect, Metric, Option, Schema, type Types } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Errors from "../api/Errors.ts"
import { answerWith } from "./Headers.ts"
import { request_seconds, requests } from "./Metrics.ts"
import { methodsOf, pathOf, type Route, routesOf } from "./Routes.ts"

/** How long a read may take. A reference, so that an embedder may set it. */
export const ReadDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/middleware/Envelope/ReadDeadline",
  { defaultValue: () => Duration.seconds(8) }
)

const unrouted = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  const methods = methodsOf(pathOf(request))
  // A path that has the method and was not routed all the same holds a `%` that spells nothing.
  if (methods.length === 0 || methods.includes(request.method)) {
    const body = yield* Errors.make("not_found", "There is no such endpoint. The API's paths begin with /v1.")
    return HttpServerResponse.jsonUnsafe(body, { status: 404 })
  }
  const allow = methods.join(", ")
  const body = yield* Errors.make("method_not_allowed", `This path answers to ${allow} only.`)
  return HttpServerResponse.jsonUnsafe(body, { status: 405, headers: { allow } })
})

const failed = Effect.fnUntraced(function*(cause: Cause.Cause<Types.unhandled>) {
  yield* Effect.logError("The request failed", cause)
  const body = yield* Errors.make("internal_error", "The service failed. The request id finds the cause in its log.")
  return HttpServerResponse.jsonUnsafe(body, { status: 500 })
})

const isUnrouted = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Answers what no endpoint answered: an unknown path, a wrong method, or a defect, which is also logged. */
const recover = (request: HttpServerRequest.HttpServerRequest) => (cause: Cause.Cause<Types.unhandled>) =>
  isUnrouted(Cause.squash(cause)) ? unrouted(request) : failed(cause)

/**
 * Ends a read that takes too long. A write is left alone: it cannot be stopped
 * half way, its time is bounded by its transaction, and its answer is remembered.
 */
const bounded = Effect.fnUntraced(function*<E, R>(
  { method }: HttpServerRequest.HttpServerRequest,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) {
  if (method !== "GET" && method !== "HEAD") return yield* httpEffect
  const duration = yield* ReadDeadline
  const late = `The read took longer than ${Duration.format(duration)}`
  return yield* Effect.timeoutOrElse(httpEffect, { duration, orElse: () => Effect.die(new Cause.TimeoutError(late)) })
})

const decodeError = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ code: Schema.String }) }))
)
const decoder = new TextDecoder()

const codeOf = ({ body, status }: HttpServerResponse.HttpServerResponse): string | null =>
  status < 400 || body._tag !== "Uint8Array"
    ? null
    : Option.getOrNull(Option.map(decodeError(decoder.decode(body.body)), ({ error }) => error.code))

/** Only what is listed here and the request id is ever told: no header, body, query or path parameter. */
const logRequest = Effect.fnUntraced(function*(
  { method }: HttpServerRequest.HttpServerRequest,
  route: Route | undefined,
  response: HttpServerResponse.HttpServerResponse,
  started_millis: number
) {
  const duration_ms = (yield* Clock.currentTimeMillis) - started_millis
  const labels = { method, route: route?.template ?? "other" }
  yield* Metric.update(Metric.withAttributes(requests, { ...labels, status: String(response.status) }), 1)
  yield* Metric.update(Metric.withAttributes(request_seconds, labels), duration_ms / 1000)
  const line = { method, route: route?.template ?? null, status: response.status, code: codeOf(response), duration_ms }
  // What is not the API's, a probe of the health for one, is of less interest.
  yield* (route === undefined ? Effect.logDebug("Answered") : Effect.logInfo("Answered")).pipe(
    Effect.annotateLogs(line)
  )
})

const kept = /^[A-Za-z0-9._-]{1,128}$/

/**
 * Layer around every route: a request id on each response, headers that keep
 * answers out of caches, and a body of the API's shape for what no endpoint answered.
 */
export const layer = HttpRouter.middleware(
  Effect.map(
    Ids,
    (ids) =>
      Effect.fnUntraced(function*(httpEffect) {
        const started_millis = yield* Clock.currentTimeMillis
        const request = yield* HttpServerRequest.HttpServerRequest
        const given = request.headers["x-request-id"] ?? ""
        const request_id = kept.test(given) ? given : yield* ids.uuid
        yield* answerWith({
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
          "x-request-id": request_id
        })
        const path = pathOf(request)
        const [route] = routesOf(path)
        yield* Effect.annotateCurrentSpan({ request_id, "http.route": route?.template ?? "other" })
        // The router would take the empty name after a trailing slash for an id.
        const routed = path.endsWith("/") ? unrouted(request) : bounded(request, httpEffect)
        return yield* routed.pipe(
          Effect.catchCauseIf((cause) => !Cause.hasInterruptsOnly(cause), recover(request)),
          Effect.tap((response) => logRequest(request, route, response, started_millis)),
          Effect.provideService(Errors.RequestId, request_id),
          Effect.annotateLogs({ request_id })
        )
      })
  ),
  { global: true }
)
