/** HTTP requests and responses in memory, which never return to the event loop. */
import * as Http from "@messaging-crm/adapter-http"
import { Context, Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServer, HttpServerRequest, type HttpServerResponse } from "effect/http"

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly json?: unknown
}

export interface Response {
  readonly status: number
  /** Whether the same request can succeed later (contract §3.2). */
  readonly has_retry_after: boolean
  readonly text: string
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/** Replaces the method that reads a body, because that method returns to the event loop. */
const withBody = (
  request: HttpServerRequest.HttpServerRequest,
  body: Uint8Array<ArrayBuffer>
): HttpServerRequest.HttpServerRequest => {
  const modify = request.modify.bind(request)
  return Object.defineProperties(request, {
    arrayBuffer: { value: Effect.succeed(body.buffer) },
    modify: { value: (options: Parameters<typeof modify>[0]) => withBody(modify(options), body) }
  })
}

/** Returns a request whose whole body has arrived, as on a socket in most cases. */
const toServerRequest = ({ headers, json, method, path }: Request): HttpServerRequest.HttpServerRequest => {
  const body = encoder.encode(json === undefined ? "" : JSON.stringify(json))
  const all = new Headers(headers)
  if (body.byteLength > 0) {
    all.set("content-type", "application/json")
    all.set("content-length", String(body.byteLength))
  }
  const chunks = [body]
  const web = new globalThis.Request(`http://localhost/v1${path}`, { method, headers: all })
  return withBody(
    HttpServerRequest.fromWeb(Object.assign(web, { complete: true, read: () => chunks.pop() ?? null })),
    body
  )
}

const toResponse = ({ body, headers, status }: HttpServerResponse.HttpServerResponse): Response => ({
  status,
  has_retry_after: headers["retry-after"] !== undefined,
  text: body._tag === "Uint8Array" ? decoder.decode(body.body) : ""
})

/** Layer for the router with the routes of the API. */
export const layer = Http.layer.pipe(
  Layer.provide(HttpServer.layerServices),
  Layer.provideMerge(HttpRouter.layer),
  Layer.provide(Layer.succeed(HttpRouter.RouterConfig, Http.routerConfig))
)

/** Returns the response to a request; null if the handler sends none. */
export const respond = (
  router: HttpRouter.HttpRouter,
  context: Context.Context<never>,
  request: Request
): Effect.Effect<Response | null> =>
  Effect.suspend(() => {
    let response: Response | null = null
    const handled = HttpEffect.toHandled(router.asHttpEffect(), (_, sent) =>
      Effect.sync(() => {
        response = toResponse(sent)
      }))
    return Effect.map(
      Effect.provideContext(
        handled,
        Context.add(context, HttpServerRequest.HttpServerRequest, toServerRequest(request))
      ),
      () => response
    )
  })
