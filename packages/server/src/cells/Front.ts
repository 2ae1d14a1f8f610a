/** The HTTP server of a process with several cells: it finds the cell of each request, whose API responds. */
import * as Http from "@messaging-crm/adapter-http"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { Ids } from "@messaging-crm/core/Ids"
import { Effect, Layer, Metric } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import * as Health from "../http/Health.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as Layers from "../Layers.ts"
import * as Metrics from "../observability/Metrics.ts"
import type { Provider } from "../Provider.ts"
import * as Callbacks from "./Callbacks.ts"
import type { Cell } from "./Cell.ts"
import { Cells } from "./Cells.ts"
import * as Routes from "./Routes.ts"

/** Without the reason why a cell has not started, which the log has: the path needs no key. */
const notStarted = Effect.succeed<Health.Readiness>({ status: "unavailable", reason: "not_started" })

/** The readiness of a process: it is ready while one cell is, because the others affect only their organizations. */
const readiness = (cells: ReadonlyArray<Cell>) =>
  Effect.map(
    Effect.forEach(cells, (cell) =>
      Effect.map(cell.running?.readiness ?? notStarted, (found) => [cell.name, found] as const), {
      concurrency: "unbounded"
    }),
    (found) => {
      const statuses = found.map(([, { status }]) =>
        status
      )
      const status: Health.Readiness["status"] = statuses.every((each) => each === "ok")
        ? "ok"
        : statuses.every((each) => each === "unavailable")
        ? "unavailable"
        : "degraded"
      return { status, cells: Object.fromEntries(found) }
    }
  )

const eachStarted = (use: (cell: Cell) => Effect.Effect<void>) =>
  Cells.useSync(({ all }) =>
    Effect.suspend(() =>
      Effect.forEach(all.filter(({ running }) => running !== null), use, { concurrency: "unbounded", discard: true })
    )
  )

/** Updates the gauges of a cell's queue. They have its name as a label. */
const measure = ({ name, running }: Cell) =>
  Effect.provideService(
    running === null ? Metrics.queueUnknown : Effect.provideContext(Metrics.measureQueue, running.services),
    Metric.CurrentMetricAttributes,
    { cell: name }
  )

/** Layer for `/metrics`. */
export const metrics = Layer.unwrap(
  Cells.useSync(({ all }) =>
    Metrics.layerOver(Effect.forEach(all, measure, { concurrency: "unbounded", discard: true }))
  )
)

/** Layer for every route of the HTTP server. */
export const layer = ({ ingress }: Pick<Provider, "ingress">) => {
  const serve = Layer.unwrap(Effect.gen(function*() {
    const { all } = yield* Cells
    const routeOf = Routes.make(all)
    const own = yield* HttpRouter.toHttpEffect(
      Layer.merge(
        Layers.ownRoutes<Error, Cells | HttpRouter.HttpRouter>({
          health: Health.layerOver(readiness(all)),
          metrics,
          ingress: Layer.provide(ingress, Callbacks.layer)
        }),
        Layer.provide(Http.layerRequestLifecycle, Ids.layer)
      )
    ).pipe(Effect.provideService(HttpRouter.RouterConfig, Http.routerConfig))

    const respond = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const endpoint = Http.endpointOf(request)
      if (endpoint === undefined) return own
      return Effect.flatMap(routeOf(endpoint), ({ cell, resolution }) => cell.respond(resolution))
    })
    return HttpServer.serve(respond, Layers.compressed)
  }))
  // Built after the server, so that it is released first.
  const endWaits = Layer.effectDiscard(
    Effect.flatMap(
      eachStarted((cell) => cell.use(EventFollowers, ({ end }) => end)),
      (end) => Effect.addFinalizer(() => end)
    )
  )
  return endWaits.pipe(Layer.provideMerge(serve), Layer.provide([Http.tracing, RequestContext.layer]))
}
