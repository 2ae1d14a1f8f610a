/** A cell: one schema on one PostgreSQL server that holds whole organizations, as this process uses it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Http from "@messaging-crm/adapter-http"
import * as DepartedKeys from "@messaging-crm/adapter-postgres/DepartedKeys"
import {
  ApiKeys,
  type Authentication,
  type KeyDigest,
  type RateLimited,
  type Unauthorized
} from "@messaging-crm/core/ApiKeys"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import type * as Crm from "@messaging-crm/core/Crm"
import { Media, type MediaNotFound, type OpenedFile } from "@messaging-crm/core/Media"
import { startCounters } from "@messaging-crm/core/Metrics"
import { Worker } from "@messaging-crm/core/Worker"
import { Clock, Context, Data, Effect, Exit, Layer, Metric, References, Scope } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import * as Database from "../Database.ts"
import * as Health from "../http/Health.ts"
import * as Layers from "../Layers.ts"
import type { Provider } from "../Provider.ts"
import type { CellAddress } from "../settings/Parsers.ts"

/** The result of finding the cell of a request, which the cell does not determine again. */
export type Resolution = Data.TaggedEnum<{
  Key: { readonly digest: KeyDigest; readonly exit: Exit.Exit<Authentication, RateLimited | Unauthorized> }
  Link: { readonly link: string; readonly exit: Exit.Exit<OpenedFile, MediaNotFound> }
  Nothing: {}
}>

export const Resolution = Data.taggedEnum<Resolution>()

/** That of the current request. */
export const CurrentResolution = Context.Reference<Resolution>("@messaging-crm/server/cells/Cell/CurrentResolution", {
  defaultValue: () => Resolution.Nothing()
})

type Services = Crm.Services

/** A cell whose database has been usable since the process started. */
export interface Running {
  readonly services: Context.Context<Services>
  /** Responds to a request to the API. */
  readonly respond: (
    resolution: Resolution
  ) => Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    unknown,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
  readonly readiness: Effect.Effect<Health.Readiness>
  /** Returns whether a key is one of an organization that has left the cell, or has not arrived in it. */
  readonly isMoving: (digest: KeyDigest) => Effect.Effect<boolean>
}

/** Why the database of the cell has not been usable since the process started. */
export class CellNotStarted
  extends Data.TaggedError("CellNotStarted")<{ readonly name: string; readonly reason: string }>
{
  override get message() {
    return `The cell ${this.name} has not started: ${this.reason}.`
  }
}

/** Until a cell has started, its organizations are closed: the process cannot do anything, so a request can be repeated. */
const closed = Effect.die(new OrganizationClosed())

export interface Options {
  readonly provider: Provider
  /** Whether the schema is migrated first. */
  readonly migrate: boolean
  /** Whether this process serves the API of the cell. */
  readonly serves: boolean
  /** Whether this process processes the cell's queue. */
  readonly works: boolean
}

/** Authentication and media links of a cell's API: what the front has determined is not repeated. */
const resolved = Layer.effectContext(Effect.gen(function*() {
  const apiKeys = yield* ApiKeys
  const media = yield* Media
  return Context.make(ApiKeys, {
    ...apiKeys,
    authenticate: (digest) =>
      Effect.flatMap(
        CurrentResolution,
        (resolution) =>
          resolution._tag === "Key" && resolution.digest === digest ? resolution.exit : apiKeys.authenticate(digest)
      )
  }).pipe(Context.add(Media, {
    ...media,
    open: (link) =>
      Effect.flatMap(
        CurrentResolution,
        (resolution) => resolution._tag === "Link" && resolution.link === link ? resolution.exit : media.open(link)
      )
  }))
}))

/** Makes the API of a cell over its services. The rest of a request's context is that of the process, except for the clock. */
export const makeApi = Effect.fnUntraced(function*(services: Context.Context<Services>) {
  const api = yield* HttpRouter.toHttpEffect(
    Http.layer.pipe(Layer.provide([resolved, NodeHttpServer.layerHttpServices]))
  ).pipe(
    Effect.provideService(HttpRouter.RouterConfig, Http.routerConfig),
    Effect.provideContext(services)
  )
  const clock = yield* Clock.Clock
  const annotations = yield* References.CurrentLogAnnotations
  const respond: Running["respond"] = (resolution) =>
    api.pipe(
      Effect.provideService(CurrentResolution, resolution),
      Effect.provideService(Clock.Clock, clock),
      Effect.provideService(References.CurrentLogAnnotations, annotations)
    )
  return respond
})

const unserved: Running["respond"] = () => Effect.die(new Error("This process does not serve the API"))

/** Builds the services, the API, and the worker of a cell. They end with the scope. */
const start = Effect.fnUntraced(function*({ url }: CellAddress, { migrate, provider, serves, works }: Options) {
  const scope = yield* Scope.Scope
  // Each cell has its own instance of every layer.
  const memoMap = yield* Layer.makeMemoMap
  const build = <A, E, R>(layer: Layer.Layer<A, E, R>) => Layer.buildWithMemoMap(layer, memoMap, scope)
  const database = (migrate ? Database.migrated : Database.current).pipe(Layer.provideMerge(Layers.database(url)))
  const environment = yield* build(
    Layer.merge(Database.clock, Database.statistics).pipe(Layer.provideMerge(database))
  )
  return yield* Effect.gen(function*() {
    const services = yield* build(Layers.crm(Layers.postgres.pipe(Layer.provide(database)), provider))
    const isReady = yield* Database.isReady
    const readiness = yield* Effect.provideContext(Health.makeReadiness(isReady), services)
    const respond = serves ? yield* makeApi(services) : unserved
    if (works) {
      yield* startCounters
      yield* Effect.provideContext(build(Layer.mergeAll(Worker.layerLoop, provider.background)), services)
    }
    // The operations use the clock of the cell's database, too.
    const isMoving: Running["isMoving"] = (digest) =>
      Effect.orDie(Effect.provideContext(DepartedKeys.has(digest), environment))
    const running: Running = { services: Context.merge(environment, services), readiness, respond, isMoving }
    return running
  }).pipe(Effect.provideContext(environment))
})

/** A cell of this process. */
export class Cell {
  readonly name: string
  private state: Running | CellNotStarted

  constructor(name: string, running?: Running) {
    this.name = name
    this.state = running ?? new CellNotStarted({ name, reason: "its database has not responded yet" })
  }

  /** Null until the cell has started. */
  get running(): Running | null {
    return this.state instanceof CellNotStarted ? null : this.state
  }

  /** Uses a service of the cell, with the clock of its database. Dies with `OrganizationClosed` until the cell has started. */
  use<I extends Services, S, A, E, R>(
    service: Context.Key<I, S>,
    use: (service: S) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      if (this.state instanceof CellNotStarted) return closed
      const { services } = this.state
      return Effect.provideService(use(Context.get(services, service)), Clock.Clock, Context.get(services, Clock.Clock))
    })
  }

  /** Responds to a request to the API. Dies with `OrganizationClosed` until the cell has started. */
  respond(resolution: Resolution) {
    return Effect.suspend(() => this.state instanceof CellNotStarted ? closed : this.state.respond(resolution))
  }

  /** Why the cell has not started; null once it has. */
  get notStarted(): CellNotStarted | null {
    return this.state instanceof CellNotStarted ? this.state : null
  }

  /** Tries once to start the cell. */
  tryStart(address: CellAddress, options: Options): Effect.Effect<void, Error, Scope.Scope> {
    return Effect.gen({ self: this }, function*() {
      const outer = yield* Scope.Scope
      const scope = yield* Scope.fork(outer)
      const started = yield* start(address, options).pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      this.state = started
    }).pipe(
      Effect.catchDefect((defect) => Effect.fail(defect instanceof Error ? defect : new Error(String(defect)))),
      Effect.tapError((error) =>
        Effect.sync(() => {
          this.state = new CellNotStarted({ name: this.name, reason: Database.reasonOf(error).replace(/\.$/, "") })
        })
      ),
      Database.ofCell(this.name),
      Effect.provideService(Metric.CurrentMetricAttributes, { cell: this.name })
    )
  }
}
