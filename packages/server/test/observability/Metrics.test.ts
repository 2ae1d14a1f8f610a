import { assert, it } from "@effect/vitest"
import * as Metrics from "@messaging-crm/core/Metrics"
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { lateness } from "../../src/observability/Metrics.ts"

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
    const lines = (yield* PrometheusMetrics.format()).split("\n")
    assert.lengthOf(counters, 5)
    for (const { id, series } of counters) {
      const expected = series.map((labels) => {
        const named = Object.entries(labels).map(([name, value]) => `${name}="${value}"`).join()
        return named === "" ? `${id} 0` : `${id}{${named}} 0`
      })
      assert.sameMembers(lines.filter((line) => line.startsWith(id)), expected)
    }
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))
