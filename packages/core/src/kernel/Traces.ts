/**
 * Traces across the work queue: what is queued in one trace is carried out in
 * it, in whatever process and however much later.
 */
import { Cause, Effect, Tracer } from "effect"

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/

/**
 * Returns the trace that goes on here, as the text of a W3C `traceparent`
 * header, or null outside of any and when the trace is not recorded.
 */
export const current: Effect.Effect<string | null> = Effect.currentSpan.pipe(
  Effect.map(({ sampled, spanId, traceId }) => {
    // A caller's trace may have a shorter id, of another standard.
    const trace = `00-${traceId.padStart(32, "0")}-${spanId}-01`
    return sampled && traceparent.test(trace) ? trace : null
  }),
  Effect.catchIf(Cause.isNoSuchElementError, () => Effect.succeed(null))
)

/** Returns what makes a span part of the trace of that text, or else of one of its own. */
export const within = (trace: string | null): Pick<Tracer.SpanOptions, "parent" | "root"> => {
  const [, traceId, spanId] = traceparent.exec(trace ?? "") ?? []
  return traceId === undefined || spanId === undefined
    ? { root: true }
    : { parent: Tracer.externalSpan({ traceId, spanId }) }
}
