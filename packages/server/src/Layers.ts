/** The composition root: combines storage, API, and core. `BuiltInProviders.ts` names the providers. */
import * as Http from "@messaging-crm/adapter-http"
import * as Docs from "@messaging-crm/adapter-http/Docs"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Crm from "@messaging-crm/core/Crm"
import { Destinations } from "@messaging-crm/core/Destinations"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { Ids } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpEffect, HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Health from "./http/Health.ts"
import * as Listener from "./http/Listener.ts"
import * as RequestContext from "./http/RequestContext.ts"
import * as SecurityTxt from "./http/SecurityTxt.ts"
import * as NodeCiphers from "./node/Ciphers.ts"
import * as NodeDigests from "./node/Digests.ts"
import * as Metrics from "./observability/Metrics.ts"
import type { Provider } from "./Provider.ts"
import { read, readWithDefault, settings } from "./settings/Config.ts"
import * as CoreSettings from "./settings/CoreSettings.ts"

/** Layer for the driver, with a pool of the configured size. */
export const database = (url: Redacted.Redacted) =>
  Layer.unwrap(Effect.map(readWithDefault(settings.database_pool), (connections) => Client.layer({ url, connections })))

/** Layer for the storage in a database, which must be migrated. */
export const postgres = Postgres.layer

/** Layer for the storage in memory. */
export const memory: Layer.Layer<Crm.StoragePorts> = Memory.layer

/** Layer for the destinations of events that settings enable. They are loaded only then. */
const destinations = Layer.effect(
  Destinations,
  Effect.gen(function*() {
    const servers = yield* read(settings.nats_servers)
    if (Option.isNone(servers)) return []
    const Nats = yield* Effect.promise(() => import("@messaging-crm/destination-nats"))
    return [yield* Nats.make({ servers: Redacted.value(servers.value) })]
  })
)

/** Layer for the settings of the core, for other destinations of events, and for Node's faster digests. */
export const tuning = Layer.mergeAll(CoreSettings.layer, destinations, NodeCiphers.layer, NodeDigests.layer)

/** Layer for every service of the CRM, over a storage and a provider. */
export const crm = <E>(storage: Layer.Layer<Crm.StoragePorts, E>, { outbound }: Pick<Provider, "outbound">) =>
  Crm.layer.pipe(
    Layer.provide([outbound.pipe(Layer.provide(Crm.channelAccounts)), WebhookTransport.layer()]),
    Layer.provide(storage)
  )

/** Layer for routes of `/metrics` on a port of its own, if one is set. */
export const metricsOver = <E, R>(host: string, routes: Layer.Layer<never, E, R>) =>
  Layer.unwrap(Effect.map(read(settings.metrics_port), (port) =>
    Option.isNone(port) ? Layer.empty : HttpRouter.serve(
      Layer.merge(routes, Layer.provide(Http.layerRequestLifecycle, Ids.layer)),
      { routerConfig: Http.routerConfig, disableLogger: true, disableListenLog: true }
    ).pipe(Layer.provide(Listener.layer({ host, port: port.value, setting: "METRICS_PORT" })))))

/** Layer for `/metrics` on a port of its own, if one is set. */
export const metrics = (host: string) => metricsOver(host, Metrics.layer)

/** Layer for routes of `/metrics` on the API's port, unless it has a port of its own. */
const metricsOnApiPort = <E, R>(routes: Layer.Layer<never, E, R>) =>
  Layer.unwrap(Effect.map(read(settings.metrics_port), (port) => Option.isNone(port) ? routes : Layer.empty))

const compression = HttpMiddleware.compression({
  algorithms: ["gzip"],
  compressible: (type) => type.startsWith("application/json")
})

/** Compresses JSON for clients that accept it. Static pages are stored compressed, and files stay as they are. */
export const compressed = <E, R>(respond: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => {
  const negotiated = compression(
    HttpEffect.withPreResponseHandler(respond, (_, response) => Effect.succeed(Http.tagCompressed(response)))
  )
  return Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ headers }) => headers["accept-encoding"] === undefined ? respond : negotiated
  )
}

/**
 * The additions of `dev` and of a console to the HTTP server: routes, an effect that ends their streams before the server stops, a
 * middleware around each request, and the page to which `/` leads.
 */
export interface Additions<E, R> {
  readonly home: string
  readonly routes: Layer.Layer<never, E, HttpRouter.HttpRouter | R>
  readonly stop: Effect.Effect<void>
  readonly middleware: <E, R>(
    respond: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>
}

/** The routes outside of the contract that depend on the storage. */
interface StorageRoutes<E, R> {
  readonly health: Layer.Layer<never, E, R>
  readonly metrics: Layer.Layer<never, E, R>
  readonly ingress: Layer.Layer<never, E, R>
}

/** Layer for the routes outside of the contract. `/` leads to the docs page, unless `home` names another one. */
export const ownRoutes = <E, R>({ health, ingress, metrics }: StorageRoutes<E, R>, home = "/docs") =>
  Layer.mergeAll(
    Docs.layer,
    health,
    metricsOnApiPort(metrics),
    SecurityTxt.layer,
    ingress,
    HttpRouter.add("GET", "/", HttpServerResponse.redirect(home))
  )

/** Layer for every route of the HTTP server. `/` leads to the docs page, unless `home` names another one. */
export const api = <E = never, R = never>(
  isReady: Effect.Effect<boolean>,
  { ingress }: Pick<Provider, "ingress">,
  { home, middleware, routes, stop = Effect.void }: Partial<Additions<E, R>> = {}
) =>
  // Built after the server, so that it is released first.
  Layer.effectDiscard(EventFollowers.use(({ end }) => Effect.addFinalizer(() => Effect.andThen(stop, end)))).pipe(
    Layer.provideMerge(HttpRouter.serve(
      Layer.mergeAll(
        Http.layer,
        ownRoutes<
          Error,
          | Layer.Services<typeof Metrics.layer>
          | Layer.Services<typeof ingress>
          | Layer.Services<ReturnType<typeof Health.layer>>
        >({ health: Health.layer(isReady), metrics: Metrics.layer, ingress }, home),
        routes ?? Layer.empty
      ),
      {
        routerConfig: Http.routerConfig,
        disableLogger: true,
        disableListenLog: true,
        middleware: (respond) => compressed(middleware === undefined ? respond : middleware(respond))
      }
    )),
    Layer.provide([Http.tracing, RequestContext.layer])
  )
