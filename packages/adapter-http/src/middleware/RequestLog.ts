/** How each request is counted and logged. */
import { Clock, Context, Effect, LogLevel, References } from "effect"
import { HttpMethod, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { errorCodeOf } from "../api/ErrorCode.ts"
import { Caller } from "./Caller.ts"
import { durationWith } from "./Metrics.ts"
import { pathOf, type Route } from "./Routes.ts"

/** Whether log entries of requests contain the path with its IDs. For development: a path may identify a person. */
export const LogPaths = Context.Reference<boolean>(
  "@messaging-crm/adapter-http/middleware/RequestLog/LogPaths",
  { defaultValue: () => false }
)

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
 * Counts and logs a response. It records only these fields, the request ID, and the IDs
 * of the caller: no header, body, query, or path parameter.
 */
export const recordRequest = (
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
