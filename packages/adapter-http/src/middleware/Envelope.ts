import { Ids } from "@messaging-crm/core/Ids"
import { Cause, Clock, Effect, type Types } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Errors from "../api/Errors.ts"

interface Route {
  readonly method: string
  readonly pattern: RegExp
}

/** Every route of the contract, to tell a wrong method from an unknown path. */
const routes: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = [{ method: "GET", pattern: /^\/v1\/openapi\.json$/ }]
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      found.push({ method: endpoint.method, pattern: new RegExp(`^${endpoint.path.replace(/:\w+/g, "[^/]+")}$`) })
    }
  })
  return found
})()

/** Returns the methods that a path answers to. */
const methodsOf = (url: string): ReadonlyArray<string> => {
  const { pathname } = new URL(url, "http://localhost")
  const methods = routes.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method)
  return methods.includes("GET") ? [...methods, "HEAD"] : methods
}

const unrouted = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  const methods = methodsOf(request.url)
  if (methods.length === 0) {
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

const kept = /^[A-Za-z0-9._-]{1,128}$/

/** Only what is listed here is ever logged: no header, body, query or path parameter. */
const log = (request: HttpServerRequest.HttpServerRequest, status: number, started_millis: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.logDebug("Answered").pipe(
      Effect.annotateLogs({ method: request.method, status, duration_ms: now - started_millis })
    ))

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
        yield* HttpEffect.appendPreResponseHandler((_, response) =>
          Effect.succeed(HttpServerResponse.setHeaders(response, {
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "x-request-id": request_id
          }))
        )
        // The router would take the empty name after a trailing slash for an id.
        const routed = new URL(request.url, "http://localhost").pathname.endsWith("/") ? unrouted(request) : httpEffect
        return yield* routed.pipe(
          Effect.catchCauseIf((cause) => !Cause.hasInterruptsOnly(cause), recover(request)),
          Effect.tap((response) => log(request, response.status, started_millis)),
          Effect.provideService(Errors.RequestId, request_id),
          Effect.annotateLogs({ request_id })
        )
      })
  ),
  { global: true }
)
