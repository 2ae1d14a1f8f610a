/** A request whose telemetry two processes export: a server without workers, and another one that sends the message. */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import type { IncomingMessage } from "node:http"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { startHttpServer } from "../../testing/processes/TestHttpServer.ts"

/** Values of callers that must not reach logs and spans. */
export const canaries = {
  phone: "+4915155501234",
  name: "Canaria",
  search: "kanarienvogel",
  path: "nightingale",
  collector_key: "collector-secret"
}

const Attributes = Schema.Array(
  Schema.Struct({ key: Schema.String, value: Schema.Record(Schema.String, Schema.Unknown) })
)
const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optional(Schema.String),
  name: Schema.String,
  attributes: Attributes,
  events: Schema.Array(Schema.Struct({ name: Schema.String, attributes: Attributes }))
})
export type Span = typeof Span.Type
const Traces = Schema.fromJsonString(Schema.Struct({
  resourceSpans: Schema.Array(Schema.Struct({
    resource: Schema.Struct({ attributes: Attributes }),
    scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) }))
  }))
}))
const Series = Schema.optional(Schema.Struct({ dataPoints: Schema.Array(Schema.Struct({ attributes: Attributes })) }))
const Metrics = Schema.fromJsonString(Schema.Struct({
  resourceMetrics: Schema.Array(Schema.Struct({
    scopeMetrics: Schema.Array(Schema.Struct({
      metrics: Schema.Array(
        Schema.Struct({ name: Schema.String, unit: Schema.String, gauge: Series, histogram: Series, sum: Series })
      )
    }))
  }))
}))

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** A collector, and everything that it received. */
const collector = Effect.gen(function*() {
  const received: Array<{ readonly path: string; readonly key: string | undefined; readonly text: string }> = []
  const url = yield* startHttpServer((request, response) => {
    textOf(request).then((text) => {
      const { authorization } = request.headers
      received.push({ path: request.url ?? "", key: authorization, text })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    }, () => response.destroy())
  })
  const spans = (): ReadonlyArray<Span> =>
    received.filter(({ path }) => path === "/v1/traces").flatMap(({ text }) =>
      Schema.decodeUnknownSync(Traces)(text).resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) => spans)
      )
    )
  const metrics = () =>
    received.filter(({ path }) => path === "/v1/metrics").flatMap(({ text }) =>
      Schema.decodeUnknownSync(Metrics)(text).resourceMetrics.flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics)
      )
    )
  return { url, received, spans, metrics }
})

export const isBelow = (spans: ReadonlyArray<Span>, span: Span | undefined, above: Span | undefined): boolean => {
  if (span === undefined || above === undefined) return false
  return span.parentSpanId === above.spanId ||
    isBelow(spans, spans.find(({ spanId }) => spanId === span.parentSpanId), above)
}

const sample = /^(\w+(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})?) (-?[0-9.e+-]+|\+Inf|NaN)$/

/** Reads `/metrics`, where every line is a comment or a sample of the text format. */
const samples = Effect.fnUntraced(function*({ url }: Servers.Server) {
  const response = yield* Effect.promise(() => fetch(`${url}/metrics`))
  assert.strictEqual(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
  const found = new Map<string, number>()
  for (const line of (yield* Effect.promise(() => response.text())).trimEnd().split("\n")) {
    if (/^# (HELP \w+ .+|TYPE \w+ (counter|gauge|histogram))$/.test(line)) continue
    const [, name = "", value] = sample.exec(line) ?? []
    assert.isDefined(value, line)
    found.set(name, Number(value))
  }
  return found
})

const begin = Effect.gen(function*() {
  const { metrics, received, spans, url } = yield* collector
  const { acme, environment, servers: [server, working] } = yield* Cluster.make({
    servers: 2,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${canaries.collector_key}`,
      LOG_LEVEL: "info"
    }
  })
  if (server === undefined || working === undefined) return assert.fail("No server was started.")
  yield* Servers.serveApi(environment, server)
  yield* Servers.serve(environment, working)

  const { channel_id, key } = acme
  const json = Api.newConversation(channel_id, canaries.phone, canaries.name)
  const options = { key, json, idempotency_key: "start-1234" }
  const accepted = yield* Api.request(server, "POST", "/conversations", options)
  assert.strictEqual(accepted.status, 202)
  for (const path of [`/contacts?query=${canaries.search}`, `/contacts/${canaries.path}`]) {
    yield* Api.request(server, "GET", path, { key })
  }
  const wrong = { key, json: { ...json, [canaries.name]: canaries.phone }, idempotency_key: "start-5678" }
  assert.strictEqual((yield* Api.request(server, "POST", "/conversations", wrong)).status, 400)

  // The two processes export on their own.
  const expected = ["MessagingProvider.deliver", "Worker.send", "POST /v1/conversations"]
  const names = Effect.sync(() => spans().map(({ name }) => name))
  yield* eventually(names, (names) => expected.every((name) => names.includes(name)))
  const paths = Effect.sync(() => received.map(({ path }) => path))
  yield* eventually(paths, (paths) => ["/v1/logs", "/v1/metrics"].every((path) => paths.includes(path)))
  return {
    acme,
    accepted,
    received,
    spans,
    metrics: metrics(),
    serving: yield* samples(server),
    working: yield* samples(working)
  }
})

/** The exported telemetry, and the samples of `/metrics` of both processes. */
export class ExportedTelemetry
  extends Context.Service<ExportedTelemetry, Effect.Success<typeof begin>>()("test/ExportedTelemetry")
{
  static readonly layer = Layer.effect(ExportedTelemetry, begin)
}
