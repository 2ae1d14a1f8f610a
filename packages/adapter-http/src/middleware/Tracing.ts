import { Layer } from "effect"
import { HttpMiddleware } from "effect/http"
import { pathOf, routesOf } from "./Routes.ts"

/** Layer that names the span of a request by its route, and makes none for probes, metrics, and the docs page. Provide it to the server of the router. */
export const layer = Layer.mergeAll(
  Layer.succeed(HttpMiddleware.SpanNameGenerator, (request) => {
    const [route] = routesOf(pathOf(request))
    return route === undefined ? request.method : `${request.method} ${route.template}`
  }),
  Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => /^\/(health|metrics|docs)\b/.test(request.url))
)
