/**
 * What leaves this process about itself: traces, metrics and logs over OTLP, to
 * the collector that is set.
 *
 * A span tells what is in `exportedAttributes` and nothing else, and of a failure its name: a
 * message of an error can hold a value that a person wrote.
 */
import { Cause, Effect, Exit, Layer, Option, Predicate, References, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { read, readOr, settings } from "./Config.ts"

/** The attributes of spans that are told: words of ours and of the standard's, ids, and SQL with its placeholders. */
const exportedAttributes: ReadonlySet<string> = new Set([
  "attempt",
  "db.namespace",
  "db.operation.name",
  "db.query.text",
  "db.system.name",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "request_id",
  "server.address",
  "server.port",
  "work_id"
])

const nameOf = (error: unknown): string => {
  if (Predicate.hasProperty(error, "_tag")) return String(error._tag)
  return error instanceof Error ? error.name : "Failure"
}

/** Returns the exit with the name of its failure, and nothing else of it. */
const discreetly = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const name = nameOf(Cause.squash(exit.cause))
  return Exit.fail(Object.assign(new Error(name), { name, stack: name }))
}

/** Returns a tracer whose spans tell only what may be told. */
export const redactingTracer = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) => {
      const span = tracer.span(options)
      const attribute = span.attribute.bind(span)
      const end = span.end.bind(span)
      return Object.assign(span, {
        attribute: (key: string, value: unknown) => {
          if (exportedAttributes.has(key)) attribute(key, value)
        },
        // Logs are exported by themselves, with the ids of their span.
        event: () => {},
        end: (at: bigint, exit: Exit.Exit<unknown, unknown>) => end(at, discreetly(exit))
      })
    }
  })

/** Layer that exports what `OTEL_EXPORTER_OTLP_ENDPOINT` is set for, beside what is logged anyway. Without it no span is made. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const endpoint = yield* read(settings.otlp_endpoint)
  if (Option.isNone(endpoint)) return Layer.succeed(References.TracerEnabled, false)
  const options = (signal: string) => ({
    url: `${endpoint.value.replace(/\/+$/, "")}/v1/${signal}`,
    headers,
    resource: { serviceName }
  })
  const headers = yield* readOr(settings.otlp_headers, {})
  const serviceName = yield* readOr(settings.otel_service_name, "messaging-crm")
  return Layer.mergeAll(
    OtlpLogger.layer(options("logs")),
    OtlpMetrics.layer(options("metrics")),
    Layer.effect(Tracer.Tracer, Effect.map(OtlpTracer.make(options("traces")), redactingTracer))
  ).pipe(
    Layer.provide(OtlpExporter.layerFlusher),
    Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer])
  )
}))
