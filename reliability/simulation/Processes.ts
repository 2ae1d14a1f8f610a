/** The processes of a run. Each is the whole service: its HTTP handler, its operations, and its worker. */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import * as Crm from "@messaging-crm/core/Crm"
import { Inbound, ProviderEvent } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import { Context, Deferred, Effect, Layer, Schema, Scope } from "effect"
import { HttpRouter } from "effect/http"
import * as Host from "./Host.ts"
import * as HttpInMemory from "./HttpInMemory.ts"
import * as Store from "./Store.ts"

export interface Process extends Host.Host {
  /** Completes when the process has ended. */
  readonly ended: Effect.Effect<void>
  /** Returns the response, or null if the process ends first. */
  readonly request: (request: HttpInMemory.Request) => Effect.Effect<HttpInMemory.Response | null>
  /** Runs an operation; returns null if the process ends first, or the operation fails. */
  readonly run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) => Effect.Effect<{ readonly value: A } | null>
}

/** The systems outside the service, as one process reaches them. */
export interface Outside {
  readonly provider: (host: Host.Host) => MessagingProvider["Service"]
  readonly transport: (host: Host.Host) => WebhookTransport["Service"]
}

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(ProviderEvent))
const encodeEvent = Schema.encodeSync(Schema.fromJsonString(ProviderEvent))
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/** Returns an event as the body of a callback. */
export const bodyOf = (event: ProviderEvent): Uint8Array => encoder.encode(encodeEvent(event))

/** Builds the services of a process, and its router if it has HTTP. */
const build = Effect.fnUntraced(function*(services: Layer.Layer<Crm.Services>, hasHttp: boolean) {
  const scope = yield* Scope.make()
  const crm = yield* Layer.buildWithScope(services, scope)
  const context = Context.merge(yield* Effect.context<never>(), crm)
  const router = hasHttp
    ? Context.get(
      yield* Effect.provideContext(Layer.buildWithScope(HttpInMemory.layer, scope), context),
      HttpRouter.HttpRouter
    )
    : null
  return { context, router }
})

/** Starts the worker and the processing of stored callbacks. */
const startLoops = Effect.fnUntraced(function*({ loops }: Host.RunningHost, context: Context.Context<Crm.Services>) {
  const inbound = Context.get(context, Inbound)
  const inbox = Context.get(context, CallbackInbox)
  const processCallbacks = inbox.run(({ body }) => Effect.orDie(inbound.receive(decodeEvent(decoder.decode(body)))))
  for (const loop of [Context.get(context, Worker).run, processCallbacks]) {
    loops.push(yield* Effect.forkDetach(Effect.provideContext(loop, context)))
  }
})

/** Starts a process. One without HTTP responds to no request. */
export const start = Effect.fnUntraced(function*(
  scene: Store.Scene,
  shared: Store.SharedStore,
  outside: Outside,
  name: string,
  hasHttp: boolean
) {
  const host = yield* Host.make(name, scene.trace)
  const services = Crm.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      Store.layer({ scene, shared, host }),
      Layer.succeed(MessagingProvider, outside.provider(host)),
      Layer.succeed(WebhookTransport, outside.transport(host))
    ))
  )
  const { context, router } = yield* build(services, hasHttp)
  yield* startLoops(host, context)
  scene.trace.add(name, "started")
  // The store and the outside systems already have this host, so the process must be the same object.
  return Object.assign(host, {
    ended: Deferred.await(host.exit),
    request: (request: HttpInMemory.Request) =>
      router === null ? Effect.succeed(null) : Host.run(host, HttpInMemory.respond(router, context, request)),
    run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) =>
      Host.run(
        host,
        Effect.provideContext(operation, context).pipe(
          Effect.map((value) => ({ value })),
          Effect.catchCause(() => Effect.succeed(null))
        )
      )
  }) satisfies Process
})
