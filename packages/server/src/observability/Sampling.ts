/** Selection of the exported traces, by the samplers of OpenTelemetry. */
import { Option, Tracer } from "effect"

/** The samplers by their names in `OTEL_TRACES_SAMPLER`. With `parentbased_`, a span with a parent is sampled as the parent is. */
export const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export interface Sampling {
  readonly sampler: (typeof samplers)[number]
  /** The part of the traces that a sampler with a ratio selects, from 0 to 1. */
  readonly ratio: number
}

/** Returns whether a trace is in the part. Every process selects the same traces, by the last 52 bits of their IDs. */
const isIn = (ratio: number, trace_id: string): boolean =>
  Number.parseInt(trace_id.slice(-13), 16) / 2 ** 52 >= 1 - ratio

const isSampled = ({ ratio, sampler }: Sampling, { parent, traceId }: Tracer.Span): boolean => {
  if (sampler.startsWith("parentbased_") && Option.isSome(parent)) return parent.value.sampled
  if (sampler.endsWith("traceidratio")) return isIn(ratio, traceId)
  return sampler.endsWith("always_on")
}

/** Returns a tracer that samples spans. */
export const samplingTracer = (tracer: Tracer.Tracer, sampling: Sampling): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) => {
      const span = tracer.span(options)
      return Object.assign(span, { sampled: isSampled(sampling, span) })
    }
  })
