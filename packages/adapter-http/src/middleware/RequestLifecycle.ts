import { request_id_pattern, RequestId } from "@messaging-crm/core/Actor"
import { Ids } from "@messaging-crm/core/Ids"
import { Cause, Clock, Context, Duration, Effect, LogLevel, References, type Types } from "effect"
import { HttpEffect, HttpMethod, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { errorCodeOf } from "../ErrorCode.ts"
import { Caller } from "./Caller.ts"
import { ResponseHeaders } from "./Headers.ts"
import { durationWith } from "./Metrics.ts"
import { isOfApi, methodsOf, pathOf, type Route, routesOf } from "./Routes.ts"

/** The time limit of a read. A reference, so that an embedder can set it. */
export const ReadDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/middleware/RequestLifecycle/ReadDeadline",
  { defaultValue: () => Duration.seconds(8) }
)

/** Whether log entries of requests contain the path with its IDs. For development: a path may identify a person. */
export const LogPaths = Context.Reference<boolean>(
  "@messaging-crm/adapter-http/middleware/RequestLifecycle/LogPaths",
  { defaultValue: () => false }
)

const unrouted = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  const methods = methodsOf(routesOf(pathOf(request)))
  // A path whose method exists is not routed if it has a `%` that is not an escape sequence.
  if (methods.length === 0 || methods.includes(request.method)) {
    const body = yield* Errors.make(
      "not_found",
      "No endpoint exists at this path. API paths start with /v1 and have no trailing slash."
    )
    return HttpServerResponse.jsonUnsafe(body, { status: 404 })
  }
  const allow = methods.join(", ")
  const body = yield* Errors.make(
    "method_not_allowed",
    `This endpoint does not support the request method. Use one of: ${allow}.`
  )
  return HttpServerResponse.jsonUnsafe(body, { status: 405, headers: { allow } })
})

const failed = Effect.fnUntraced(function*(cause: Cause.Cause<Types.unhandled>) {
  yield* Effect.annotateLogs(Effect.logError("The request failed", cause), yield* Caller)
  const { code, message, param } = Texts.internalError
  const body = yield* Errors.make(code, message, param)
  return HttpServerResponse.jsonUnsafe(body, { status: 500 })
})

const isUnrouted = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Responds to an unknown path, to a wrong method, and to a defect, which is also logged. */
const recover = (request: HttpServerRequest.HttpServerRequest) => (cause: Cause.Cause<Types.unhandled>) =>
  isUnrouted(Cause.squash(cause)) ? unrouted(request) : failed(cause)

/**
 * Ends a read that takes too long. A write has no limit here: it cannot be stopped
 * between its steps, its commit has a time limit, and its response is recorded.
 *
 * A timer interrupts the route, the only part of a request that can be interrupted,
 * and `recover` responds. A race would start two fibers for each read.
 */
const bounded = <E, R>(
  { method }: HttpServerRequest.HttpServerRequest,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  method !== "GET" && method !== "HEAD" ? httpEffect : Effect.withFiber<
    HttpServerResponse.HttpServerResponse,
    E,
    R
  >((fiber) => {
    const duration = fiber.getRef(ReadDeadline)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      fiber.interruptUnsafe()
    }, Duration.toMillis(duration))
    const onSuccess = (response: HttpServerResponse.HttpServerResponse) => {
      clearTimeout(timer)
      return Effect.succeed(response)
    }
    const onFailure = (cause: Cause.Cause<E>) => {
      clearTimeout(timer)
      return isLate
        ? Effect.die(new Cause.TimeoutError(`The read took longer than ${Duration.format(duration)}`))
        : Effect.failCause(cause)
    }
    return Effect.matchCauseEffect(httpEffect, { onSuccess, onFailure })
  })

const logRequest = Effect.fnUntraced(function*(
  request: HttpServerRequest.HttpServerRequest,
  route: Route | undefined,
  response: HttpServerResponse.HttpServerResponse,
  duration_ms: number,
  level: "Debug" | "Info"
) {
  const line = {
    method: request.method,
    ...(yield* LogPaths) && { path: pathOf(request) },
    route: route?.template ?? null,
    status: response.status,
    code: errorCodeOf(response),
    duration_ms,
    ...yield* Caller
  }
  const message = "Request completed"
  yield* (level === "Debug" ? Effect.logDebug(message) : Effect.logInfo(message)).pipe(Effect.annotateLogs(line))
})

const isProbe = (request: HttpServerRequest.HttpServerRequest): boolean =>
  /^\/(?:health\/|metrics$)/.test(pathOf(request))

/**
 * Counts and logs a response. It records only these fields, the request id, and the ids
 * of the caller: no header, body, query, or path parameter.
 */
const recordRequest = (
  request: HttpServerRequest.HttpServerRequest,
  route: Route | undefined,
  response: HttpServerResponse.HttpServerResponse,
  started_millis: number
) =>
  Effect.withFiber((fiber) => {
    const duration_ms = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() - started_millis
    // A request that does not come from Node's parser can have any method, and each label value stays in memory.
    const method = HttpMethod.isHttpMethod(request.method) ? request.method : "other"
    const template = route?.template ?? "other"
    durationWith(method, template, response.status).updateUnsafe(duration_ms / 1000, fiber.context)
    // Requests to paths outside of the API, such as health probes, are logged in development only.
    const level = route === undefined && !(fiber.getRef(LogPaths) && !isProbe(request)) ? "Debug" : "Info"
    return LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), level)
      ? Effect.succeed(response)
      : Effect.as(logRequest(request, route, response, duration_ms, level), response)
  })

/** Runs a request under its id. */
const around = <R>(
  request: HttpServerRequest.HttpServerRequest,
  request_id: string,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, R>
) =>
  Effect.withFiber((fiber) => {
    const started_millis = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff", "x-request-id": request_id }
    HttpEffect.appendPreResponseHandlerUnsafe(
      fiber.context,
      (_, response) => Effect.succeed(HttpServerResponse.setHeaders(response, headers))
    )
    const path = pathOf(request)
    const routes = routesOf(path)
    const [route] = routes
    // The router reads paths differently from the contract: it accepts an empty id, decodes `%63ontacts`, begins the query at
    // `;`, and reads the name in `GET /contacts/upsert` as an id.
    const isElsewhere = (path.endsWith("/") || path.includes(";") || (route === undefined && path.includes("%"))) &&
      isOfApi(path)
    const lacksMethod = routes.length > 0 && !methodsOf(routes).includes(request.method)
    const routed = isElsewhere || lacksMethod ? unrouted(request) : bounded(request, httpEffect)
    return Effect.annotateCurrentSpan({ request_id, "http.route": route?.template ?? "other" }).pipe(
      Effect.andThen(routed),
      Effect.catchCauseIf((cause) => !Cause.hasInterruptsOnly(cause), recover(request)),
      Effect.flatMap((response) => recordRequest(request, route, response, started_millis)),
      Effect.updateContext((context: Context.Context<R>) =>
        context.pipe(
          Context.add(RequestId, request_id),
          Context.add(ResponseHeaders, headers),
          Context.add(Caller, {}),
          Context.add(References.CurrentLogAnnotations, {
            ...fiber.getRef(References.CurrentLogAnnotations),
            request_id
          })
        )
      )
    )
  })

/**
 * Layer around every route: a request id on each response, headers that keep responses out
 * of caches, and an error of the API if no endpoint has responded.
 */
export const layer = HttpRouter.middleware(
  Effect.map(Ids, (ids) => (httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const given = request.headers["x-request-id"] ?? ""
      const request_id = request_id_pattern.test(given) ? given : ids.next()
      return around(request, request_id, httpEffect)
    })),
  { global: true }
)
