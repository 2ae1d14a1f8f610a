/** The composition root: the only file that names every adapter. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Http from "@messaging-crm/adapter-http"
import * as Docs from "@messaging-crm/adapter-http/Docs"
import * as Downloads from "@messaging-crm/adapter-http/Downloads"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { AuditAgeMax } from "@messaging-crm/core/Audit"
import * as Crm from "@messaging-crm/core/Crm"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { PublicUrl } from "@messaging-crm/core/Media"
import { MessageAgeMax } from "@messaging-crm/core/MessageRetention"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { AllowedAddresses } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import { Context, Duration, Effect, FileSystem, Layer, Option, Path, type Redacted, Stdio, Terminal } from "effect"
import { CliOutput } from "effect/cli"
import { Etag, HttpMiddleware, HttpRouter, HttpServer, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { SqlClient } from "effect/sql"
import { read, readOr, settings } from "./Config.ts"
import * as Health from "./Health.ts"
import { createHttpServer, type Refused } from "./HttpServer.ts"
import * as Metrics from "./Metrics.ts"
import * as NodeDigests from "./NodeDigests.ts"
import type { Provider } from "./Provider.ts"

/** Layer for a listening socket. Once it is closed, requests have 20 s to be answered. */
export const listen = (options: { readonly host: string; readonly port: number }) =>
  Layer.unwrap(Effect.map(Effect.context(), (context) => {
    const run = Effect.runForkWith(context)
    const logRefused = (refused: Refused) =>
      void run(Effect.logDebug("Request rejected").pipe(Effect.annotateLogs({ ...refused })))
    const server = createHttpServer(logRefused)
    const socket = NodeHttpServer.layer(() => server, {
      ...options,
      // A queue of the system's usual maximum, so that many connections at once delay no other by a second.
      backlog: 4096,
      gracefulShutdownTimeout: "20 seconds"
    })
    // Node's own limits end with the server, and half a request, or an answer that nobody takes, would keep its connection.
    const closeConnections = Layer.effectDiscard(
      Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    )
    return Layer.provideMerge(closeConnections, socket)
  }))

/** Layer for the driver, with a pool of the configured size. */
export const database = (url: Redacted.Redacted) =>
  Layer.unwrap(Effect.map(readOr(settings.database_pool, 10), (connections) => Client.layer({ url, connections })))

/** Layer for the settings of the core that an operator may change, and for Node's faster digests. */
export const tuning = Layer.unwrap(Effect.gen(function*() {
  const requests = yield* readOr(settings.rate_limit_per_minute, limits.requests_per_minute)
  const at_once = yield* readOr(settings.requests_at_once, limits.requests_at_once)
  const storage_mb = yield* readOr(settings.storage_budget_mb, limits.stored_bytes_max / 1_000_000)
  const audit_days = yield* readOr(settings.audit_days, Duration.toDays(AuditAgeMax.defaultValue()))
  const message_days = yield* readOr(settings.message_retention_days, Infinity)
  const keys = yield* read(settings.secret_key)
  const public_url = yield* read(settings.public_url)
  const networks = yield* read(settings.webhook_allowed_networks)
  const proxies = yield* read(settings.trusted_proxies)
  return Layer.mergeAll(
    NodeDigests.layer,
    Layer.succeed(RequestsPerMinute, requests),
    Layer.succeed(Http.RequestsAtOnce, at_once),
    Layer.succeed(StorageBudget, storage_mb * 1_000_000),
    Layer.succeed(MessageAgeMax, Duration.days(message_days)),
    Layer.succeed(AuditAgeMax, Duration.days(audit_days)),
    Option.isNone(keys) ? Layer.empty : Layer.succeed(RootKeys, keys.value),
    Option.isNone(public_url) ? Layer.empty : Layer.succeed(PublicUrl, public_url.value),
    Option.isNone(proxies) ? Layer.empty : Layer.succeed(Http.TrustedProxies, proxies.value),
    Option.isNone(networks) ? Layer.empty : Layer.succeed(AllowedAddresses, networks.value)
  )
}))

/** Layer for downloads of files from public addresses, and from the networks that are set. */
export const downloads = Layer.unwrap(
  Effect.map(
    read(settings.media_allowed_networks),
    (networks) => Downloads.layer({ allowed: Option.getOrNull(networks) })
  )
)

/** Layer for downloads from public addresses, and from this machine. */
export const downloadsHere = Downloads.layer({ allowed: (address) => address === "127.0.0.1" })

/** Layer for every operation, over a storage and a provider. */
export const operations = <E>(storage: Layer.Layer<Crm.StoragePorts, E>, { outbound }: Pick<Provider, "outbound">) =>
  Crm.layer.pipe(
    Layer.provide([outbound.pipe(Layer.provide(Crm.channelAccounts)), WebhookTransport.layer()]),
    Layer.provide(storage)
  )

/** Layer for `/metrics` on a port of its own, if one is set. */
export const metrics = (host: string) =>
  Layer.unwrap(Effect.map(read(settings.metrics_port), (port) =>
    Option.isNone(port) ? Layer.empty : HttpRouter.serve(
      Layer.merge(Metrics.layer, Layer.provide(Http.layerRequestLifecycle, Ids.layer)),
      { routerConfig: Http.routerConfig, disableLogger: true, disableListenLog: true }
    ).pipe(Layer.provide(listen({ host, port: port.value })))))

/** Layer for `/metrics` on the API's port, unless it has a port of its own. */
const metricsOnApiPort = Layer.unwrap(
  Effect.map(read(settings.metrics_port), (port) => Option.isNone(port) ? Metrics.layer : Layer.empty)
)

/** Services of the process, which its routes were given when they were built. A request that carries them copies them. */
const ofTheProcess = [
  ...Crm.operations,
  Dispatch,
  SqlClient.SqlClient,
  CommitConnections,
  SearchConnections,
  HttpServer.HttpServer,
  Etag.Generator,
  FileSystem.FileSystem,
  Path.Path,
  Stdio.Stdio,
  Terminal.Terminal,
  ChildProcessSpawner.ChildProcessSpawner,
  CliOutput.Presenter,
  Layer.CurrentMemoMap
] as const

/**
 * Returns the context that every request begins with: the settings that are around.
 *
 * A context is copied with everything in it when it is added to often: by default for the ninth service, which is the
 * last that a request adds before its route is found.
 */
const contextOfRequests = <R>(around: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(Context.omit(...ofTheProcess)(around).mapUnsafe, { maxDepth: 16 })

/** Layer for the server as the API is served: its requests begin with `contextOfRequests`. */
const requestServer = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, ({ address, serve }) => {
    const lean = (...given: Parameters<typeof serve>) => Effect.updateContext(serve(...given), contextOfRequests)
    // It takes and returns the same as `serve`, which has several forms.
    return HttpServer.make({ address, serve: lean as typeof serve })
  })
)

/** Compresses JSON for clients that accept it. Static pages are stored compressed, and files stay as they are. */
const compressed = HttpMiddleware.compression({
  algorithms: ["gzip"],
  compressible: (type) => type.startsWith("application/json")
})

/** What `dev` adds to the HTTP server: more routes, a middleware around each request, and the page to which `/` leads. */
export interface Additions {
  readonly home: string
  readonly routes: Layer.Layer<never, never, HttpRouter.HttpRouter>
  readonly middleware: <E, R>(
    answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>
}

/** Layer for every route of the HTTP server. `/` leads to the docs page, unless `home` names another one. */
export const api = (
  isReady: Effect.Effect<boolean>,
  { ingress }: Pick<Provider, "ingress">,
  { home = "/docs", middleware, routes }: Partial<Additions> = {}
) =>
  HttpRouter.serve(
    Layer.mergeAll(
      Http.layer,
      Docs.layer,
      Health.layer(isReady),
      metricsOnApiPort,
      ingress,
      HttpRouter.add("GET", "/", HttpServerResponse.redirect(home)),
      routes ?? Layer.empty
    ),
    {
      routerConfig: Http.routerConfig,
      disableLogger: true,
      disableListenLog: true,
      middleware: (answer) => compressed(middleware === undefined ? answer : middleware(answer))
    }
  ).pipe(Layer.provide([Http.tracing, requestServer]))

/** Layer for the storage in memory. */
export const memory: Layer.Layer<Crm.StoragePorts> = Memory.layer

/** Layer for the storage in a database, which must be migrated. */
export const postgres = Postgres.layer

/** Layer that runs the worker, for the lifetime of the layer. */
export const worker = Worker.layerLoop
