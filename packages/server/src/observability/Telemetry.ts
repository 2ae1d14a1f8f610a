/**
 * Exports traces, metrics and logs over OTLP, to the configured collector.
 *
 * A span has only the attributes in `exportedAttributes`, and of an error only its
 * name: the message of an error can contain a value that a person wrote.
 */
import { Cause, Effect, Exit, Layer, Option, Predicate, Ref, References, Schedule, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { manifest } from "../Manifest.ts"
import { read, readOr, readWithDefault, settings } from "../settings/Config.ts"
import { samplingTracer } from "./Sampling.ts"

/** The exported attributes of spans: constants of this service and of the standard, IDs, and SQL with placeholders. */
const exportedAttributes: ReadonlySet<string> = new Set([
  "attempt",
  "db.namespace",
  "db.operation.name",
  "db.query.text",
  "db.system.name",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "key_id",
  "member_id",
  "organization_id",
  "ref",
  "request_id",
  "server.address",
  "server.port"
])

const nameOf = (error: unknown): string => {
  if (Predicate.hasProperty(error, "_tag")) return String(error._tag)
  return error instanceof Error ? error.name : "Failure"
}

/** Replaces a failure by an error that has only its name. */
const redactFailure = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const name = nameOf(Cause.squash(exit.cause))
  return Exit.fail(Object.assign(new Error(name), { name, stack: name }))
}

/** Returns the name of a span of SQL: its operation, and its first table or function. */
export const queryName = (text: string): string => {
  const [operation = "SQL"] = /\b(?:SELECT|INSERT|UPDATE|DELETE)\b/i.exec(text) ?? []
  const [, target] = /\b(?:FROM|INTO|UPDATE)\s+"?([a-z_]\w*)/i.exec(text) ?? []
  return target === undefined ? operation.toUpperCase() : `${operation.toUpperCase()} ${target}`
}

/** Returns a tracer whose spans have only exportable attributes and failures. */
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
          // The driver names each span of SQL after the database.
          if (key === "db.query.text") Object.assign(span, { name: queryName(String(value)) })
        },
        // Logs are exported separately, with the IDs of their span.
        event: () => {},
        end: (at: bigint, exit: Exit.Exit<unknown, unknown>) => end(at, redactFailure(exit))
      })
    }
  })

/**
 * Makes the client of exports. An export is tried four times, and then dropped: for the exporter it has succeeded, because
 * after a failure the exporter would discard everything for a minute. The log says when exports begin to fail, and when
 * they succeed again.
 */
export const exporting = Effect.fnUntraced(function*(client: HttpClient.HttpClient) {
  const isFailing = yield* Ref.make(false)
  const succeeded = Effect.flatMap(
    Ref.getAndSet(isFailing, false),
    (failed) => failed ? Effect.logInfo("Telemetry is exported again") : Effect.void
  )
  const dropped = Effect.fnUntraced(function*({ message }: Error) {
    if (!(yield* Ref.getAndSet(isFailing, true))) {
      const warning = Effect.logWarning("Telemetry export failed: telemetry is dropped until the collector accepts it")
      yield* Effect.annotateLogs(warning, { reason: message })
    }
  })
  const retrying = client.pipe(
    // A redirect would send the collector's key to another address.
    HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })),
    HttpClient.filterStatusOk,
    HttpClient.transformResponse(Effect.timeout("10 seconds")),
    HttpClient.retryTransient({ schedule: Schedule.spaced("1 second"), times: 3 }),
    HttpClient.tap(() => succeeded)
  )
  return HttpClient.make((request) =>
    Effect.catch(
      retrying.execute(request),
      (error) => Effect.as(dropped(error), HttpClientResponse.fromWeb(request, new Response(null, { status: 204 })))
    )
  )
})

/** Removes the attribute `unit` of each series: a metric has its unit in a field of its own. */
const removeUnits = ({ resourceMetrics }: OtlpMetrics.MetricsData): void => {
  for (const { metrics } of resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)) {
    for (const { gauge, histogram, sum } of metrics) {
      for (const point of [gauge, histogram, sum].flatMap((data) => data?.dataPoints ?? [])) {
        point.attributes = (point.attributes ?? []).filter(({ key }) => key !== "unit")
      }
    }
  }
}

/** Layer for the bodies of exports. */
const serialization = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, ({ metrics, ...others }) => ({
    ...others,
    metrics: (data: OtlpMetrics.MetricsData) => {
      removeUnits(data)
      return metrics(data)
    }
  }))
).pipe(Layer.provide(OtlpSerialization.layerJson))

/** Layer for the client of exports. */
const collector = Layer.effect(HttpClient.HttpClient, Effect.flatMap(HttpClient.HttpClient, exporting)).pipe(
  Layer.provide(FetchHttpClient.layer)
)

/**
 * Layer that exports to `OTEL_EXPORTER_OTLP_ENDPOINT`, in addition to the log on
 * standard output.
 *
 * Without that setting no spans are made.
 */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const endpoint = yield* read(settings.otlp_endpoint)
  if (Option.isNone(endpoint)) return Layer.succeed(References.TracerEnabled, false)
  const options = (signal: string) => ({
    url: `${endpoint.value.replace(/\/+$/, "")}/v1/${signal}`,
    headers,
    resource: { serviceName, serviceVersion: manifest.version }
  })
  const headers = yield* readOr(settings.otlp_headers, {})
  const serviceName = yield* readWithDefault(settings.otel_service_name)
  const sampling = {
    sampler: yield* readWithDefault(settings.otel_traces_sampler),
    ratio: yield* readWithDefault(settings.otel_traces_sampler_arg)
  }
  const tracer = Effect.map(
    OtlpTracer.make(options("traces")),
    (exporting) => samplingTracer(redactingTracer(exporting), sampling)
  )
  return Layer.mergeAll(
    OtlpLogger.layer(options("logs")),
    OtlpMetrics.layer(options("metrics")),
    Layer.effect(Tracer.Tracer, tracer)
  ).pipe(
    Layer.provide(OtlpExporter.layerFlusher),
    Layer.provide([serialization, collector])
  )
}))
