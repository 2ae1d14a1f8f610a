/** The processes of a run. Each is the whole service: its HTTP handler, its operations, and its worker. */
import * as Http from "@messaging-crm/adapter-http"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import * as Crm from "@messaging-crm/core/Crm"
import { Inbound, ProviderEvent } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import { Context, Deferred, Effect, Fiber, Layer, Schema, Scope } from "effect"
import { HttpEffect, HttpRouter, HttpServer, HttpServerRequest, type HttpServerResponse } from "effect/http"
import * as Store from "./Store.ts"

export interface Host {
  readonly name: string
  isAlive: boolean
  /** Ends the process at once. Whatever it had in progress stays as it is. */
  readonly kill: () => void
  /** Stops the process as a signal does: it finishes or releases what it has in progress. */
  readonly stop: () => void
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly json?: unknown
}

export interface Response {
  readonly status: number
  /** Whether the same request can succeed later (contract §3.2). */
  readonly hasRetryAfter: boolean
  readonly text: string
}

export interface Process extends Host {
  /** Ends when the process has. */
  readonly ended: Effect.Effect<void>
  /** Responds, or returns null when the process ends first. */
  readonly request: (request: Request) => Effect.Effect<Response | null>
  /** Runs an operation; returns null when the process ends first, or the operation fails. */
  readonly run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) => Effect.Effect<{ readonly value: A } | null>
}

/** The systems outside the service, as one process reaches them. */
export interface Outside {
  readonly provider: (host: Host) => MessagingProvider["Service"]
  readonly transport: (host: Host) => WebhookTransport["Service"]
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/** Replaces the reading of a body, which would return to the event loop. */
const inMemory = (
  request: HttpServerRequest.HttpServerRequest,
  body: Uint8Array<ArrayBuffer>
): HttpServerRequest.HttpServerRequest => {
  const modify = request.modify.bind(request)
  return Object.defineProperties(request, {
    arrayBuffer: { value: Effect.succeed(body.buffer) },
    modify: { value: (options: Parameters<typeof modify>[0]) => inMemory(modify(options), body) }
  })
}

/** A request whose body has arrived as a whole, as most have on a socket. */
const arrived = ({ headers, json, method, path }: Request): HttpServerRequest.HttpServerRequest => {
  const body = encoder.encode(json === undefined ? "" : JSON.stringify(json))
  const all = new Headers(headers)
  if (body.byteLength > 0) {
    all.set("content-type", "application/json")
    all.set("content-length", String(body.byteLength))
  }
  const pieces = [body]
  const web = new globalThis.Request(`http://localhost/v1${path}`, { method, headers: all })
  return inMemory(
    HttpServerRequest.fromWeb(Object.assign(web, { complete: true, read: () => pieces.pop() ?? null })),
    body
  )
}

const received = ({ body, headers, status }: HttpServerResponse.HttpServerResponse): Response => ({
  status,
  hasRetryAfter: headers["retry-after"] !== undefined,
  text: body._tag === "Uint8Array" ? decoder.decode(body.body) : ""
})

const http = Http.layer.pipe(
  Layer.provide(HttpServer.layerServices),
  Layer.provideMerge(HttpRouter.layer),
  Layer.provide(Layer.succeed(HttpRouter.RouterConfig, Http.routerConfig))
)

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(ProviderEvent))
const encodeEvent = Schema.encodeSync(Schema.fromJsonString(ProviderEvent))

/** Returns an event as the body of a callback. */
export const bodyOf = (event: ProviderEvent): Uint8Array => encoder.encode(encodeEvent(event))

/** Starts a process. One without HTTP responds to no request. */
export const start = Effect.fnUntraced(function*(
  scene: Store.Scene,
  truth: Store.Truth,
  outside: Outside,
  name: string,
  hasHttp: boolean
) {
  const ended = yield* Deferred.make<void>()
  const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
  let isStopping = false

  const end = (how: string) => {
    host.isAlive = false
    scene.trace.add(name, how)
    Deferred.doneUnsafe(ended, Effect.void)
  }
  const host: Host = {
    name,
    isAlive: true,
    kill: () => end("killed"),
    stop: () => {
      if (isStopping) return
      isStopping = true
      scene.trace.add(name, "stopping")
      Effect.runForkWith(context)(
        Effect.andThen(Fiber.interruptAll(fibers), Effect.sync(() => host.isAlive && end("stopped")))
      )
    }
  }

  const app = Crm.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      Store.layer(scene, truth, host),
      Layer.succeed(MessagingProvider, outside.provider(host)),
      Layer.succeed(WebhookTransport, outside.transport(host))
    ))
  )
  const scope = yield* Scope.make()
  const crm = yield* Layer.buildWithScope(app, scope)
  const context = Context.merge(yield* Effect.context<never>(), crm)
  const router = hasHttp
    ? Context.get(yield* Effect.provideContext(Layer.buildWithScope(http, scope), context), HttpRouter.HttpRouter)
    : null

  const inbound = Context.get(context, Inbound)
  const inbox = Context.get(context, CallbackInbox)
  const takeIn = inbox.run(({ body }) => Effect.orDie(inbound.receive(decodeEvent(decoder.decode(body)))))
  for (const loop of [Context.get(context, Worker).run, takeIn]) {
    fibers.push(yield* Effect.forkDetach(Effect.provideContext(loop, context)))
  }
  scene.trace.add(name, "started")

  /** Runs something in the process until the process ends. */
  const inside = <A>(effect: Effect.Effect<A>) =>
    Effect.gen(function*() {
      if (!host.isAlive || isStopping) return null
      const done = yield* Deferred.make<A | null>()
      yield* Effect.forkDetach(Effect.flatMap(effect, (value) => Deferred.succeed(done, value)))
      yield* Effect.forkDetach(Effect.flatMap(Deferred.await(ended), () => Deferred.succeed(done, null)))
      return yield* Deferred.await(done)
    })

  const process: Process = Object.assign(host, {
    ended: Deferred.await(ended),
    request: (request: Request) =>
      router === null ? Effect.succeed(null) : inside(Effect.suspend(() => {
        let response: Response | null = null
        const handled = HttpEffect.toHandled(router.asHttpEffect(), (_, sent) =>
          Effect.sync(() => {
            response = received(sent)
          }))
        return Effect.map(
          Effect.provideContext(handled, Context.add(context, HttpServerRequest.HttpServerRequest, arrived(request))),
          () => response
        )
      })),
    run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) =>
      inside(
        Effect.provideContext(operation, context).pipe(
          Effect.map((value) => ({ value })),
          Effect.catchCause(() => Effect.succeed(null))
        )
      )
  })
  return process
})
