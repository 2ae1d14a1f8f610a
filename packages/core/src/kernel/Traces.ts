/**
 * Traces: the spans of operations, and traces across the work queue. Work that is enqueued within a trace
 * is executed within the same trace, in any process and at any later time, and is sampled if the trace is.
 */
import { Effect, Tracer } from "effect"

/** A W3C `traceparent`: version, trace, span, and whether the trace is sampled. */
const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/

/** Returns the current trace as the text of a W3C `traceparent` header, or null without a trace. */
export const current: Effect.Effect<string | null> = Effect.withFiber(({ cache: { span } }) => {
  if (span?._tag !== "Span") return Effect.succeed(null)
  // A caller's trace ID may have 64 bits, as in B3.
  const trace = `00-${span.traceId.padStart(32, "0")}-${span.spanId}-${span.sampled ? "01" : "00"}`
  return Effect.succeed(traceparent.test(trace) ? trace : null)
})

/** Returns the span options that continue the trace of a `traceparent`, or start a new one for null. */
export const within = (trace: string | null): Pick<Tracer.SpanOptions, "parent" | "root"> => {
  const [, traceId, spanId, sampled] = traceparent.exec(trace ?? "") ?? []
  return traceId === undefined || spanId === undefined
    ? { root: true }
    : { parent: Tracer.externalSpan({ traceId, spanId, sampled: sampled === "1" }) }
}

/**
 * Makes an operation of a generator function, as `Effect.fn` does: each call has a span of that name.
 *
 * It is faster than `Effect.fn` where no spans are made (docs/performance.md, Constructs of core).
 */
export const traced = (name: string): Effect.fn.Untraced => {
  const define = (...definition: Parameters<typeof untraced>) => {
    const operation = untraced(...definition)
    return (...values: ReadonlyArray<unknown>) =>
      Effect.withFiber(({ cache }) =>
        cache.tracerEnabled
          ? Effect.withSpan(operation(...values), name, { captureStackTrace: false })
          : operation(...values)
      )
  }
  return define as Effect.fn.Untraced
}

/** The type of `Effect.fnUntraced`, without its many overloads. */
export type Define = (
  ...definition: ReadonlyArray<unknown>
) => (...values: ReadonlyArray<unknown>) => Effect.Effect<unknown>

const untraced = Effect.fnUntraced as Define
