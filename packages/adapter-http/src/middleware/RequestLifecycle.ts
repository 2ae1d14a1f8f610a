import { request_id_pattern, RequestId } from "@messaging-crm/core/Actor"
import { Ids } from "@messaging-crm/core/Ids"
import { Cause, Clock, Context, Effect, References, type Types } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { Caller } from "./Caller.ts"
import { DocsUrl, helpOf } from "./ErrorHelp.ts"
import { ResponseHeaders } from "./Headers.ts"
import { withDeadline } from "./ReadDeadline.ts"
import { recordRequest } from "./RequestLog.ts"
import { isUnroutable, methodsOf, pathOf, routesOf } from "./Routes.ts"

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

const isUnrouted = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Responds to an unknown path, to a wrong method, and to a defect, which is also logged. */
const recover = (request: HttpServerRequest.HttpServerRequest) => (cause: Cause.Cause<Types.unhandled>) =>
  isUnrouted(Cause.squash(cause)) ? unrouted(request) : failed(cause)

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
    const docs_url = fiber.getRef(DocsUrl)
    HttpEffect.appendPreResponseHandlerUnsafe(
      fiber.context,
      (_, response) =>
        Effect.succeed(HttpServerResponse.setHeaders(response, { ...headers, ...helpOf(docs_url, response) }))
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
