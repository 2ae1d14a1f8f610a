import * as SharedResult from "@messaging-crm/adapter-http/SharedResult"
import { poolUsages } from "@messaging-crm/adapter-postgres/PoolUsage"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { startCounters } from "@messaging-crm/core/Metrics"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Layer, Metric, Option, Schedule } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { getHeapStatistics } from "node:v8"
import { manifest } from "../Manifest.ts"
import { read, settings } from "../settings/Config.ts"
import * as PrometheusText from "./PrometheusText.ts"

const storage_up = Metric.gauge("messaging_crm.storage_up", {
  attributes: { unit: "{process}" },
  description: "1 when the work queue could be read, so that its gauges are current; otherwise 0."
})
const memory = Metric.gauge("process.memory.usage", {
  attributes: { unit: "By" },
  description: "Resident memory of this process."
})
const cpu = Metric.counter("process.cpu.time", {
  attributes: { unit: "s" },
  description: "CPU time of this process, user and system.",
  incremental: true
})
const lag = Metric.gauge("nodejs.eventloop.delay.p99", {
  attributes: { unit: "s" },
  description: "The 99th percentile of the event loop's delay since the last measurement."
})

const heap_used = Metric.gauge("nodejs.heap.used", {
  attributes: { unit: "By" },
  description: "Used part of V8's heap."
})
const heap_limit = Metric.gauge("nodejs.heap.limit", {
  attributes: { unit: "By" },
  description: "Maximum size of V8's heap; the process exits if it needs more."
})
const build = Metric.withAttributes(
  Metric.gauge("messaging_crm.build_info", {
    attributes: { unit: "{process}" },
    description: "1; the labels name the version of the service and of Node."
  }),
  { version: manifest.version, node: process.version }
)
const pool_max = Metric.gauge("db.client.connection.max", {
  attributes: { unit: "{connection}" },
  description: "Maximum number of open connections of a pool."
})
const pool_pending = Metric.gauge("db.client.connection.pending_requests", {
  attributes: { unit: "{request}" },
  description: "Statements that wait for a connection of a pool."
})
const pool_statements = Metric.gauge("messaging_crm.db_statements", {
  attributes: { unit: "{statement}" },
  description: "Statements in progress on the connections of a pool."
})

/** Updates the gauges of the database's pools. */
const measurePools = () =>
  Effect.forEach(poolUsages(), ({ labels, max, name, statements, waiting }) => {
    const pool = { ...labels, "db.client.connection.pool.name": name }
    return Effect.all([
      Metric.update(Metric.withAttributes(pool_max, pool), max),
      Metric.update(Metric.withAttributes(pool_pending, pool), waiting),
      Metric.update(Metric.withAttributes(pool_statements, pool), statements)
    ])
  }, { discard: true })

/** The time between two measurements of the event loop's delay, in milliseconds. */
const resolution = 20

/** The times that passed between two measurements. */
const intervals = monitorEventLoopDelay({ resolution })

/** Returns the delay of a measurement in seconds, from the nanoseconds between it and the previous one. */
export const lateness = (interval_nanos: number): number =>
  Math.max(0, interval_nanos / 1_000_000_000 - resolution / 1000)

/** Reports that a queue cannot be read. */
export const queueUnknown = Metric.update(storage_up, 0)

/** Updates the gauges of the queue. Waits for the database for at most 2 seconds. */
export const measureQueue = Effect.gen(function*() {
  const holds = yield* ChannelHolds
  const inbox = yield* CallbackInbox
  const worker = yield* Worker
  const seen = yield* Effect.all([worker.measure, inbox.measure, holds.measure], { discard: true }).pipe(
    Effect.timeout("2 seconds"),
    Effect.exit
  )
  yield* Metric.update(storage_up, seen._tag === "Success" ? 1 : 0)
})

/** Updates the gauges of this process. */
const measureProcess = Effect.gen(function*() {
  const { system, user } = process.cpuUsage()
  yield* Metric.update(memory, process.memoryUsage.rss())
  const { heap_size_limit, used_heap_size } = getHeapStatistics()
  yield* Metric.update(heap_used, used_heap_size)
  yield* Metric.update(heap_limit, heap_size_limit)
  yield* Metric.update(build, 1)
  yield* Effect.suspend(measurePools)
  const { count: counted } = yield* Metric.value(cpu)
  yield* Metric.update(cpu, (user + system) / 1_000_000 - counted)
  yield* Metric.update(lag, lateness(intervals.percentile(99)))
  intervals.reset()
})

/** Layer for `/metrics`, in the text format of Prometheus. It needs no key and contains no data of organizations. */
const layerHttp = (measure: Effect.Effect<void>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    // Clients that reach the port can scrape as often as they like; the text is made once per second.
    const text = yield* SharedResult.make(Effect.andThen(measure, PrometheusText.format), "1 second")
    const contentType = "text/plain; version=0.0.4; charset=utf-8"
    yield* router.add("GET", "/metrics", Effect.map(text, (body) => HttpServerResponse.text(body, { contentType })))
  }))

/** Layer that updates the gauges every 10 seconds where metrics are exported over OTLP, which does not scrape. */
const layerExported = (measure: Effect.Effect<void>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const endpoint = yield* read(settings.otlp_endpoint)
    if (Option.isSome(endpoint)) yield* Effect.forkScoped(Effect.repeat(measure, Schedule.spaced("10 seconds")))
  }))

const layerDelays = Layer.effectDiscard(
  Effect.acquireRelease(Effect.sync(() => intervals.enable()), () => Effect.sync(() => intervals.disable()))
)

/** Layer for the metrics of this process and of work queues. */
export const layerOver = (measureQueues: Effect.Effect<void>) => {
  const measure = Effect.andThen(measureQueues, measureProcess)
  return Layer.mergeAll(layerHttp(measure), layerExported(measure), layerDelays, Layer.effectDiscard(startCounters))
}

/** Layer for the metrics of this process and of the work queue. */
export const layer = Layer.unwrap(
  Effect.map(
    Effect.context<CallbackInbox | ChannelHolds | Worker>(),
    (services) => layerOver(Effect.provideContext(measureQueue, services))
  )
)
