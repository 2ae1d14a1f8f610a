/** How each request is counted and logged, with its caller. */
import type { Actor } from "@messaging-crm/core/Actor"
import { Clock, Context, Effect, LogLevel, Metric, References } from "effect"
import { HttpMethod, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { errorCodeOf } from "../api/ErrorCode.ts"
import { pathOf, type Route } from "./Routes.ts"

/** The IDs of the organization, and of the key or of the member without one; empty until the request is authenticated. */
type CallerIds = Partial<Record<"key_id" | "member_id" | "organization_id", string>>

/** The caller of the current request: one object, which authentication fills. It is not read outside of a request. */
export const Caller = Context.Reference<CallerIds>("@messaging-crm/adapter-http/middleware/RequestLog/Caller", {
  defaultValue: () => ({})
})

/** Names the caller in the log entries and on the span of the current request. */
export const identify = (
  { key_id, member_id, organization_id }: Pick<Actor, "key_id" | "organization_id"> & Partial<Pick<Actor, "member_id">>
): Effect.Effect<void> =>
  Effect.flatMap(Caller, (caller) => {
    const own = key_id === undefined ? typeof member_id === "string" ? { member_id } : {} : { key_id }
    const ids = { organization_id, ...own }
    Object.assign(caller, ids)
    return Effect.annotateCurrentSpan(ids)
  })

// By OpenTelemetry's semantic conventions. A route is a path template from the contract.
const duration = Metric.histogram("http.server.request.duration", {
  description: "Duration of HTTP server requests.",
  attributes: { unit: "s" },
  boundaries: Metric.boundariesFromIterable([
    0.005,
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10
  ])
})

/** A series is made once for its labels and found again: making one takes longer than counting. There are few. */
const series = new Map<string, typeof duration>()

/** Returns the histogram of the requests with a method, route, and status. */
const durationWith = (method: string, route: string, status: number): typeof duration => {
  const key = `${method} ${route} ${status}`
  const found = series.get(key)
  if (found !== undefined) return found
  const made = Metric.withAttributes(duration, {
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": String(status)
  })
  series.set(key, made)
  return made
}

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
