/**
 * The service over any provider: what the commands `serve` and `worker` run, and
 * what an operator's own main calls with a provider of its own.
 *
 * Settings come from the environment, as for the commands. Both run until they
 * are interrupted, and then end what they have in progress.
 */
import { TryRequests } from "@messaging-crm/adapter-http/Docs"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Layer } from "effect"
import * as Print from "./cli/Print.ts"
import * as Database from "./Database.ts"
import * as Listener from "./http/Listener.ts"
import * as Layers from "./Layers.ts"
import * as Logging from "./observability/Logging.ts"
import * as Telemetry from "./observability/Telemetry.ts"
import type { Provider } from "./Provider.ts"
import { readOr, readRequired, readWithDefault, settings } from "./settings/Config.ts"

export interface WorkerOptions {
  /** Whether the database's schema is brought up to date first. Default: false. */
  readonly migrate?: boolean
  /** Whether to print a line of JSON to stdout, instead of a log line, when the process is ready. Default: false. */
  readonly json?: boolean
}

export interface ServeOptions extends WorkerOptions {
  /** The address to listen on. Default: `HOST`, else 0.0.0.0. */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes any free one. Default: `PORT`, else 3000. */
  readonly port?: number | undefined
  /** Whether this process also processes the work queue. Default: true. */
  readonly worker?: boolean
  /** Whether members can log in to the console at `/console`. Default: false. */
  readonly console?: boolean
}

/** The services of the CRM over the configured database, with their settings. */
const production = Effect.fnUntraced(function*(provider: Provider, { migrate = false }: WorkerOptions) {
  const url = yield* readRequired(settings.database_url)
  yield* readRequired(settings.secret_key)
  const database = (migrate ? Database.migrated : Database.current).pipe(Layer.provideMerge(Layers.database(url)))
  const crm = Layers.crm(Layers.postgres.pipe(Layer.provide(database)), provider)
  const environment = Layer.mergeAll(
    Layers.tuning,
    Layer.succeed(TryRequests, yield* readOr(settings.docs_try_requests, false)),
    Layer.merge(Database.clock, Database.statistics).pipe(Layer.provide(database))
  )
  return { crm, database, environment }
})

/** Logs that a process stops, before anything of a service is released. */
const logStop = <E, R>(service: Layer.Layer<never, E, R>) =>
  Layer.effectDiscard(Effect.addFinalizer(() => Effect.logInfo("Stopping"))).pipe(Layer.provideMerge(service))

/** Runs a service until it is interrupted, and logs its stop. */
const launch = <E, R>(service: Layer.Layer<never, E, R>) =>
  Effect.onInterrupt(Layer.launch(logStop(service)), () => Effect.logInfo("Stopped"))

const configuredHost = readOr(settings.host, "0.0.0.0")

const reporting = Layer.provideMerge(Telemetry.layer, Logging.layer)

/** The console, if it is requested. It is loaded only then. */
const consoleIf = Effect.fnUntraced(function*(isRequested: boolean) {
  if (!isRequested) return {}
  const Console = yield* Effect.promise(() => import("./console/Console.ts"))
  return yield* Console.make
})

/** Serves the API and the provider's callbacks, and processes the work queue. */
export const serve = Effect.fnUntraced(function*(provider: Provider, options: ServeOptions = {}) {
  const { crm, database, environment } = yield* production(provider, options)
  const host = options.host ?? (yield* configuredHost)
  const listen = Listener.layer({ host, port: options.port ?? (yield* readWithDefault(settings.port)) })
  const additions = yield* consoleIf(options.console ?? false)
  const api = Layer.unwrap(Effect.map(Database.isReady, (isReady) => Layers.api(isReady, provider, additions))).pipe(
    Layer.provide(database)
  )
  const announce = Print.announce(options.json ?? false, (address) => ({ base_url: `${address}/v1` }))
  const work = options.worker ?? true ? Worker.layerLoop : Layer.empty
  const service = announce.pipe(
    Layer.provide(Layer.mergeAll(api, work, provider.background, Layers.metrics(host))),
    Layer.provide(listen),
    Layer.provide(crm)
  )
  return yield* launch(service.pipe(Layer.provide(environment)))
}, Effect.provide(reporting))

/** Processes the work queue, without the API. `/metrics` is on `METRICS_PORT`, if that is set. */
export const worker = Effect.fnUntraced(function*(provider: Provider, options: WorkerOptions = {}) {
  const { crm, environment } = yield* production(provider, options)
  const announce = Layer.effectDiscard(
    options.json === true
      ? Print.line(JSON.stringify({ status: "working" }))
      : Effect.logInfo("Processing the work queue")
  )
  const metrics = Layers.metrics(yield* configuredHost)
  const service = announce.pipe(
    Layer.provide(Layer.mergeAll(Worker.layerLoop, provider.background, metrics)),
    Layer.provide(crm)
  )
  return yield* launch(service.pipe(Layer.provide(environment)))
}, Effect.provide(reporting))
