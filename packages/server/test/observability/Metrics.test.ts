import { assert, it } from "@effect/vitest"
import * as Metrics from "@messaging-crm/core/Metrics"
import { Effect, Metric } from "effect"
import { lateness } from "../../src/observability/Metrics.ts"
import * as PrometheusText from "../../src/observability/PrometheusText.ts"

it("the delay of the event loop is what exceeds the interval between measurements", () => {
  assert.strictEqual(lateness(20_000_000), 0)
  assert.strictEqual(lateness(19_900_000), 0)
  assert.strictEqual(lateness(0), 0)
  assert.closeTo(lateness(37_000_000), 0.017, 1e-9)
})

/** The counters of core, with their series. A gauge has none. */
const counters = Object.values(Metrics).flatMap((each) => "series" in each ? [each] : [])

it.effect("every series of every counter is exported at 0 from the start", () =>
  Effect.gen(function*() {
    yield* Metrics.startCounters
    const lines = (yield* PrometheusText.format).split("\n")
    assert.lengthOf(counters, 5)
    for (const { id, series } of counters) {
      const exported = `${id.replace(".", "_")}_total`
      const expected = series.map((labels) => {
        const named = Object.entries(labels).map(([name, value]) => `${name}="${value}"`).join()
        return named === "" ? `${exported} 0` : `${exported}{${named}} 0`
      })
      assert.sameMembers(lines.filter((line) => line.startsWith(exported)), expected)
    }
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

it.effect("the name of a metric ends with its unit, then with _total if it is a counter", () =>
  Effect.gen(function*() {
    const attributes = (unit: string) => ({ attributes: { unit } })
    yield* Metric.update(Metric.counter("disk.reads", { ...attributes("{read}"), incremental: true }), 2)
    yield* Metric.update(Metric.counter("disk.io_time", { ...attributes("s"), incremental: true }), 3)
    yield* Metric.update(Metric.gauge("disk.free", attributes("By")), 4)
    yield* Metric.update(Metric.histogram("disk.latency", { ...attributes("s"), boundaries: [1] }), 0.5)
    const text = yield* PrometheusText.format
    assert.sameMembers(text.trimEnd().split("\n"), [
      "# TYPE disk_reads_total counter",
      "disk_reads_total 2",
      "# TYPE disk_io_time_seconds_total counter",
      "disk_io_time_seconds_total 3",
      "# TYPE disk_free_bytes gauge",
      "disk_free_bytes 4",
      "# TYPE disk_latency_seconds histogram",
      "disk_latency_seconds_bucket{le=\"1\"} 1",
      "disk_latency_seconds_bucket{le=\"+Inf\"} 1",
      "disk_latency_seconds_sum 0.5",
      "disk_latency_seconds_count 1"
    ])
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))
