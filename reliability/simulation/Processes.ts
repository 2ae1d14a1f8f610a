/** The processes of a run. Each is the whole service: its HTTP handler, its operations, and its worker. */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import * as Crm from "@messaging-crm/core/Crm"
import { Inbound, ProviderEvent } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import { Context, Deferred, Effect, Fiber, Layer, Schema, Scope } from "effect"
import { HttpRouter } from "effect/http"
import * as HttpInMemory from "./HttpInMemory.ts"
import * as Store from "./Store.ts"
import type { Trace } from "./Trace.ts"

export interface Host {
  readonly name: string
  is_alive: boolean
  /** Ends the process at once. Work in progress stays unfinished. */
  readonly kill: () => void
  /** Stops the process as a signal does: it finishes or releases its work in progress. */
  readonly stop: () => void
}

export interface Process extends Host {
  /** Completes when the process has ended. */
  readonly ended: Effect.Effect<void>
  /** Returns the response, or null if the process ends first. */
  readonly request: (request: HttpInMemory.Request) => Effect.Effect<HttpInMemory.Response | null>
  /** Runs an operation; returns null if the process ends first, or the operation fails. */
  readonly run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) => Effect.Effect<{ readonly value: A } | null>
}

/** The systems outside the service, as one process reaches them. */
export interface Outside {
  readonly provider: (host: Host) => MessagingProvider["Service"]
  readonly transport: (host: Host) => WebhookTransport["Service"]
}

/** A host with its loops, which stop with it. */
interface RunningHost extends Host {
  is_stopping: boolean
  readonly exit: Deferred.Deferred<void>
  readonly loops: Array<Fiber.Fiber<unknown, unknown>>
}

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(ProviderEvent))
const encodeEvent = Schema.encodeSync(Schema.fromJsonString(ProviderEvent))
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/** Returns an event as the body of a callback. */
export const bodyOf = (event: ProviderEvent): Uint8Array => encoder.encode(encodeEvent(event))

const makeHost = Effect.fnUntraced(function*(name: string, trace: Trace) {
  const context = yield* Effect.context<never>()
  const exit = yield* Deferred.make<void>()
  const loops: RunningHost["loops"] = []
  const end = (how: string) => {
    host.is_alive = false
    trace.add(name, how)
    Deferred.doneUnsafe(exit, Effect.void)
  }
  const host: RunningHost = {
    name,
    exit,
    loops,
    is_alive: true,
    is_stopping: false,
    kill: () => end("killed"),
    stop: () => {
      if (host.is_stopping) return
      host.is_stopping = true
      trace.add(name, "stopping")
      Effect.runForkWith(context)(
        Effect.andThen(Fiber.interruptAll(loops), Effect.sync(() => host.is_alive && end("stopped")))
      )
    }
  }
  return host
})

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
const startLoops = Effect.fnUntraced(function*({ loops }: RunningHost, context: Context.Context<Crm.Services>) {
  const inbound = Context.get(context, Inbound)
  const inbox = Context.get(context, CallbackInbox)
  const processCallbacks = inbox.run(({ body }) => Effect.orDie(inbound.receive(decodeEvent(decoder.decode(body)))))
  for (const loop of [Context.get(context, Worker).run, processCallbacks]) {
    loops.push(yield* Effect.forkDetach(Effect.provideContext(loop, context)))
  }
})

/** Runs an effect in a process, and returns null if the process ends first. */
const runInside = <A>(host: RunningHost, effect: Effect.Effect<A>) =>
  Effect.gen(function*() {
    if (!host.is_alive || host.is_stopping) return null
    const done = yield* Deferred.make<A | null>()
    yield* Effect.forkDetach(Effect.flatMap(effect, (value) => Deferred.succeed(done, value)))
    yield* Effect.forkDetach(Effect.flatMap(Deferred.await(host.exit), () => Deferred.succeed(done, null)))
    return yield* Deferred.await(done)
  })

/** Starts a process. One without HTTP responds to no request. */
export const start = Effect.fnUntraced(function*(
  scene: Store.Scene,
  shared: Store.SharedStore,
  outside: Outside,
  name: string,
  hasHttp: boolean
) {
  const host = yield* makeHost(name, scene.trace)
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
      router === null ? Effect.succeed(null) : runInside(host, HttpInMemory.respond(router, context, request)),
    run: <A, E>(operation: Effect.Effect<A, E, Crm.Services>) =>
      runInside(
        host,
        Effect.provideContext(operation, context).pipe(
          Effect.map((value) => ({ value })),
          Effect.catchCause(() => Effect.succeed(null))
        )
      )
  }) satisfies Process
})
