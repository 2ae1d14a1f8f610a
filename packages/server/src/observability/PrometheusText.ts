/**
 * The text format of Prometheus, with the names that OpenTelemetry's exporter writes: the unit follows the name, then
 * `_total` if the metric is a counter. So `/metrics` and a collector that receives OTLP have the same series.
 */
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"

/** The suffix of each unit. A unit in braces, such as `{item}`, has none. */
const suffixes: Readonly<Record<string, string>> = { By: "_bytes", s: "_seconds" }

const nameOf = ({ attributes, id, type }: Metric.Metric.Snapshot): string =>
  `${id}${suffixes[attributes?.["unit"] ?? ""] ?? ""}${type === "Counter" ? "_total" : ""}`

/** Formats all metrics. */
export const format: Effect.Effect<string> = Effect.map(Effect.context<never>(), (context) => {
  const names = new Map(Metric.snapshotUnsafe(context).map((each) => [each.id, nameOf(each)]))
  return PrometheusMetrics.formatUnsafe(context, { metricNameMapper: (id) => names.get(id) ?? id })
})
