import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Layer, Metric, Option, Schedule } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { read, settings } from "./Config.ts"

const storage_up = Metric.gauge("messaging_crm_storage_up", {
  description: "1 when the work queue could be looked at, and so its gauges are of now; else 0."
})
const memory = Metric.gauge("process_resident_memory_bytes", {
  description: "Resident memory of this process."
})
const cpu = Metric.counter("process_cpu_seconds_total", {
  description: "CPU time of this process, user and system.",
  incremental: true
})
const lag = Metric.gauge("nodejs_eventloop_lag_p99_seconds", {
  description: "How late the event loop was in 99 of 100 cases since the last look."
})

const delays = monitorEventLoopDelay({ resolution: 20 })

/** Measures what only changes unnoticed: the queue, and this process. A database that is away is told, and waited for no longer. */
const measure = Effect.gen(function*() {
  const inbox = yield* CallbackInbox
  const worker = yield* Worker
  const seen = yield* Effect.andThen(worker.measure, inbox.measure).pipe(Effect.timeout("2 seconds"), Effect.exit)
  yield* Metric.update(storage_up, seen._tag === "Success" ? 1 : 0)
  const { system, user } = process.cpuUsage()
  yield* Metric.update(memory, process.memoryUsage.rss())
  const { count: told } = yield* Metric.value(cpu)
  yield* Metric.update(cpu, (user + system) / 1_000_000 - told)
  yield* Metric.update(lag, delays.percentile(99) / 1_000_000_000)
  delays.reset()
})

/** Layer for `/metrics`, in the text format of Prometheus. It needs no key, and names no organization and no person. */
const layerHttp = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const services = yield* Effect.context<CallbackInbox | Worker>()
  // Whoever reaches the port may ask, and as often as they like; the database is asked once a second.
  const measured = yield* Effect.cachedWithTTL(measure, "1 second")
  const scrape = Effect.andThen(measured, PrometheusMetrics.format()).pipe(
    Effect.map((text) => HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })),
    Effect.provideContext(services)
  )
  yield* router.add("GET", "/metrics", scrape)
}))

/** Layer that measures also when nobody asks, for what is exported by itself. */
const layerExported = Layer.effectDiscard(Effect.gen(function*() {
  const endpoint = yield* read(settings.otlp_endpoint)
  if (Option.isSome(endpoint)) yield* Effect.forkScoped(Effect.repeat(measure, Schedule.spaced("10 seconds")))
}))

const layerDelays = Layer.effectDiscard(
  Effect.acquireRelease(Effect.sync(() => delays.enable()), () => Effect.sync(() => delays.disable()))
)

/** Layer that measures this process and what it works on. */
export const layer = Layer.mergeAll(layerHttp, layerExported, layerDelays)
