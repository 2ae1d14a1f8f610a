import { request_id_pattern, RequestId } from "@messaging-crm/core/Actor"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import { Ids } from "@messaging-crm/core/Ids"
import { Cause, Clock, Context, Duration, Effect, References, type Types } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorCodeOf } from "../api/ErrorCode.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { ResponseHeaders } from "./Headers.ts"
import { Caller, recordRequest } from "./RequestLog.ts"
import { isUnroutable, methodsOf, pathOf, routesOf } from "./Routes.ts"

// ------------------------------------------- the time limit of a read

/** The time limit of a read. A reference, so that an embedder can set it. */
export const ReadDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/middleware/RequestLifecycle/ReadDeadline",
  { defaultValue: () => Duration.seconds(8) }
)

/**
 * Ends a read that takes too long. A write cannot be stopped in the same way, because a sent commit
 * continues: core's `WriteTime` limits it.
 *
 * A timer interrupts the route, the only part of a request that can be interrupted,
 * and `recover` responds. A race would start two fibers for each read.
 */
const withDeadline = <E, R>(
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

// ------------------------------------------------------- the lifecycle

/** Reference for the URL of the descriptions of error codes, up to the code; null if errors have no link. */
export const ErrorHelp = Context.Reference<string | null>(
  "@messaging-crm/adapter-http/middleware/RequestLifecycle/ErrorHelp",
  {
    defaultValue: () => null
  }
)

/** Returns the header of an error that links to the description of its code; none for other responses. */
const helpOf = (
  help: string | null,
  response: HttpServerResponse.HttpServerResponse
): Readonly<Record<string, string>> => {
  const code = help === null ? null : errorCodeOf(response)
  return code === null ? {} : { link: `<${help}${code}>; rel="help"` }
}

/** Responds to a method that a path does not have, with those that it has. */
export const methodNotAllowed = (allow: string) =>
  Errors.respondWith(Texts.methodNotAllowed(allow), { status: 405, headers: { allow } })

const unrouted = (request: HttpServerRequest.HttpServerRequest) => {
  const methods = methodsOf(routesOf(pathOf(request)))
  // A path whose method exists is not routed if it has a `%` that is not an escape sequence.
  if (methods.length === 0 || methods.includes(request.method)) {
    return Errors.respondWith(Texts.endpointUnknown, { status: 404 })
  }
  return methodNotAllowed(methods.join(", "))
}

const failed = Effect.fnUntraced(function*(cause: Cause.Cause<Types.unhandled>) {
  yield* Effect.annotateLogs(Effect.logError("The request failed", cause), yield* Caller)
  return yield* Errors.respondWith(Texts.internalError, { status: 500 })
})

/** The response while an organization is closed for writes, in neither of two databases, or in one that has not been reached yet. */
const closed = Errors.respondWith(Texts.organizationClosed, { status: 503, headers: { "retry-after": "1" } })

const isUnrouted = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Responds to an unknown path, to a wrong method, and to a defect, which is also logged. */
const recover = (request: HttpServerRequest.HttpServerRequest) => (cause: Cause.Cause<Types.unhandled>) => {
  const error = Cause.squash(cause)
  if (error instanceof OrganizationClosed) return closed
  return isUnrouted(error) ? unrouted(request) : failed(cause)
}

/** Runs a request under its ID. */
const runWithId = <R>(
  request: HttpServerRequest.HttpServerRequest,
  request_id: string,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, R>
) =>
  Effect.withFiber((fiber) => {
    const started_millis = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    // Steps add their headers to this object, because the response to an error is made outside of them.
    const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff", "x-request-id": request_id }
    const help = fiber.getRef(ErrorHelp)
    HttpEffect.appendPreResponseHandlerUnsafe(
      fiber.context,
      (_, response) =>
        Effect.succeed(HttpServerResponse.setHeaders(response, { ...headers, ...helpOf(help, response) }))
    )
    const path = pathOf(request)
    const routes = routesOf(path)
    const [route] = routes
    const routed = isUnroutable(request.method, path, routes) ? unrouted(request) : withDeadline(request, httpEffect)
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
 * Layer around every route: a request ID on each response, headers that keep responses out
 * of caches, and an error of the API if no endpoint has responded.
 */
export const layer = HttpRouter.middleware(
  Effect.map(Ids, (ids) => (httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const given = request.headers["x-request-id"] ?? ""
      const request_id = request_id_pattern.test(given) ? given : ids.next()
      return runWithId(request, request_id, httpEffect)
    })),
  { global: true }
)
