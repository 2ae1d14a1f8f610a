/**
 * The service over any provider: what the commands `serve` and `worker` run, and
 * what an operator's own main calls with a provider of its own.
 *
 * Settings come from the environment, as for the commands. Both run until they
 * are interrupted, and then end what they have in progress.
 */
import { TryRequests } from "@messaging-crm/adapter-http/Docs"
import { Worker } from "@messaging-crm/core/Worker"
import { Data, Effect, Layer, Option, type Redacted } from "effect"
import { Cells } from "./cells/Cells.ts"
import * as Front from "./cells/Front.ts"
import * as Print from "./cli/Print.ts"
import * as Database from "./Database.ts"
import * as Listener from "./http/Listener.ts"
import * as Layers from "./Layers.ts"
import * as Logging from "./observability/Logging.ts"
import * as Telemetry from "./observability/Telemetry.ts"
import type { Provider } from "./Provider.ts"
import { read, readOr, readRequired, readWithDefault, settings, StartupRejected } from "./settings/Config.ts"
import type { CellAddress } from "./settings/Parsers.ts"

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
  /** Whether AI agents can use the API over the Model Context Protocol, at `/mcp`. Default: false. */
  readonly mcp?: boolean
}

/** The settings of core, and of the docs page. */
const configured = Effect.map(
  readOr(settings.docs_try_requests, false),
  (try_requests) => Layer.merge(Layers.tuning, Layer.succeed(TryRequests, try_requests))
)

/** Where the data of a process is: in one database, or in several cells. */
type Storage = Data.TaggedEnum<{
  Database: { readonly url: Redacted.Redacted; readonly cell: string | null }
  Cells: { readonly addresses: ReadonlyArray<CellAddress> }
}>

const Storage = Data.taggedEnum<Storage>()

/** The configured storage. An only cell is a database, so that it costs nothing. */
const storage = Effect.gen(function*() {
  const addresses = Option.getOrElse(yield* read(settings.cells), () => [])
  const [first] = addresses
  if (addresses.length > 1) return Storage.Cells({ addresses })
  if (first !== undefined) return Storage.Database({ url: first.url, cell: first.name })
  return Storage.Database({ url: yield* readRequired(settings.database_url), cell: null })
})

/** The services of the CRM over a database, with their settings. */
const production = Effect.fnUntraced(function*(
  url: Redacted.Redacted,
  provider: Provider,
  { migrate = false }: WorkerOptions
) {
  yield* readRequired(settings.secret_key)
  const database = (migrate ? Database.migrated : Database.current).pipe(Layer.provideMerge(Layers.database(url)))
  const crm = Layers.crm(Layers.postgres.pipe(Layer.provide(database)), provider)
  const environment = Layer.merge(
    yield* configured,
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

/** The cells that this process serves, or whose queues it processes: those of CELLS_WORKED, or all. */
const cellsOf = Effect.fnUntraced(function*(
  addresses: ReadonlyArray<CellAddress>,
  provider: Provider,
  options: { readonly migrate?: boolean; readonly serves: boolean; readonly works: boolean }
) {
  yield* readRequired(settings.secret_key)
  const worked = yield* read(settings.cells_worked)
  const isWorked = (name: string) =>
    Option.match(worked, { onNone: () => true, onSome: (names) => names.includes(name) })
  const { migrate = false, serves, works } = options
  return Cells.layer(
    serves ? addresses : addresses.filter(({ name }) => isWorked(name)),
    (name) => ({ provider, migrate, serves, works: works && isWorked(name) })
  )
})

const configuredHost = readOr(settings.host, "0.0.0.0")

/** The layer of the API's listening socket, and its announcement. */
const listenerOf = Effect.fnUntraced(function*(options: ServeOptions) {
  const host = options.host ?? (yield* configuredHost)
  const listen = Listener.layer({ host, port: options.port ?? (yield* readWithDefault(settings.port)) })
  const announce = Print.announce(options.json ?? false, (address) => ({ base_url: `${address}/v1` }))
  return { announce, host, listen }
})

/** Announces a worker, as JSON on stdout or in the log. */
const announceWorker = ({ json = false }: WorkerOptions) =>
  Layer.effectDiscard(
    json ? Print.line(JSON.stringify({ status: "working" })) : Effect.logInfo("Processing the work queue")
  )

const serveCells = Effect.fnUntraced(function*(
  addresses: ReadonlyArray<CellAddress>,
  provider: Provider,
  options: ServeOptions
) {
  const { announce, host, listen } = yield* listenerOf(options)
  const cells = yield* cellsOf(addresses, provider, { ...options, serves: true, works: options.worker ?? true })
  const service = announce.pipe(
    Layer.provide(Layer.merge(Front.layer(provider), Layers.metricsOver(host, Front.metrics))),
    Layer.provide(listen),
    Layer.provide(cells)
  )
  return yield* launch(service.pipe(Layer.provide(yield* configured)))
})

const workCells = Effect.fnUntraced(function*(
  addresses: ReadonlyArray<CellAddress>,
  provider: Provider,
  options: WorkerOptions
) {
  const cells = yield* cellsOf(addresses, provider, { ...options, serves: false, works: true })
  const metrics = Layers.metricsOver(yield* configuredHost, Front.metrics)
  const service = announceWorker(options).pipe(Layer.provide(metrics), Layer.provide(cells))
  return yield* launch(service.pipe(Layer.provide(yield* configured)))
})

const reporting = Layer.provideMerge(Telemetry.layer, Logging.layer)

/** The console, if it is requested. It is loaded only then. */
const consoleIf = Effect.fnUntraced(function*(isRequested: boolean) {
  if (!isRequested) return { routes: Layer.empty }
  const Console = yield* Effect.promise(() => import("./console/Console.ts"))
  return yield* Console.make
})

/** Layer for the routes of agents, if they are requested. They are loaded only then. */
const agentsIf = (isRequested: boolean) =>
  isRequested
    ? Layer.unwrap(Effect.map(Effect.promise(() => import("./mcp/Http.ts")), ({ layer }) => layer))
    : Layer.empty

/** Returns why options cannot be combined with several cells, or null. */
const rejectionWithCells = ({ console = false, mcp = false }: ServeOptions): string | null => {
  const flag = console ? "--console" : mcp ? "--mcp" : null
  return flag === null
    ? null
    : `${flag} serves the organizations of one database. Set DATABASE_URL to the database of a cell instead of CELLS.`
}

/** Serves the organizations of one database. */
const serveDatabase = Effect.fnUntraced(function*(url: Redacted.Redacted, provider: Provider, options: ServeOptions) {
  const { crm, database, environment } = yield* production(url, provider, options)
  const { announce, host, listen } = yield* listenerOf(options)
  const console = yield* consoleIf(options.console ?? false)
  const additions = { ...console, routes: Layer.merge(console.routes, agentsIf(options.mcp ?? false)) }
  const api = Layer.unwrap(Effect.map(Database.isReady, (isReady) => Layers.api(isReady, provider, additions))).pipe(
    Layer.provide(database)
  )
  const work = options.worker ?? true ? Worker.layerLoop : Layer.empty
  const service = announce.pipe(
    Layer.provide(Layer.mergeAll(api, work, provider.background, Layers.metrics(host))),
    Layer.provide(listen),
    Layer.provide(crm)
  )
  return yield* launch(service.pipe(Layer.provide(environment)))
})

/** Serves the API and the provider's callbacks, and processes the work queue. */
export const serve = Effect.fnUntraced(function*(provider: Provider, options: ServeOptions = {}) {
  const found = yield* storage
  if (found._tag === "Database") {
    return yield* Database.ofCell(found.cell)(serveDatabase(found.url, provider, options))
  }
  const message = rejectionWithCells(options)
  if (message !== null) return yield* new StartupRejected({ message })
  return yield* serveCells(found.addresses, provider, options)
}, Effect.provide(reporting))

/** Processes the work queue of one database. */
const workDatabase = Effect.fnUntraced(function*(url: Redacted.Redacted, provider: Provider, options: WorkerOptions) {
  const { crm, environment } = yield* production(url, provider, options)
  const metrics = Layers.metrics(yield* configuredHost)
  const service = announceWorker(options).pipe(
    Layer.provide(Layer.mergeAll(Worker.layerLoop, provider.background, metrics)),
    Layer.provide(crm)
  )
  return yield* launch(service.pipe(Layer.provide(environment)))
})

/** Processes the work queue, without the API. `/metrics` is on `METRICS_PORT`, if that is set. */
export const worker = Effect.fnUntraced(function*(provider: Provider, options: WorkerOptions = {}) {
  const found = yield* storage
  if (found._tag === "Cells") return yield* workCells(found.addresses, provider, options)
  return yield* Database.ofCell(found.cell)(workDatabase(found.url, provider, options))
}, Effect.provide(reporting))
