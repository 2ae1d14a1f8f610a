/** Telemetry: over OTLP to a collector, and at `/metrics`. */
import { assert, it } from "@effect/vitest"
import * as CoreTraces from "@messaging-crm/core/Traces"
import { Cause, Data, Effect, Exit, Logger, Tracer } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { OtlpExporter, OtlpSerialization, OtlpTracer } from "effect/observability"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { manifest } from "../../src/Manifest.ts"
import * as Telemetry from "../../src/observability/Telemetry.ts"
import { canaries, ExportedTelemetry, isBelow, type Span } from "./TelemetryScene.ts"

class NameTaken extends Data.TaggedError("NameTaken")<{ readonly message: string }> {}

it.effect("a span has only names of errors, and allowed attributes", () =>
  Effect.gen(function*() {
    const spans: Array<Tracer.NativeSpan> = []
    const recording = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const work = Effect.gen(function*() {
      yield* Effect.annotateCurrentSpan({ "http.route": "/v1/tags", "url.full": canaries.search })
      yield* Effect.logInfo(canaries.name)
      return yield* new NameTaken({ message: canaries.name })
    }).pipe(Effect.withSpan("tags.create", { attributes: { name: canaries.name } }))
    yield* Effect.exit(Effect.provideService(work, Tracer.Tracer, Telemetry.redactingTracer(recording)))
    const [span] = spans
    assert.deepStrictEqual([...span?.attributes ?? []], [["http.route", "/v1/tags"]])
    assert.deepStrictEqual(span?.events, [])
    const exported = span?.status._tag === "Ended" && Exit.isFailure(span.status.exit)
      ? Cause.pretty(span.status.exit.cause)
      : ""
    assert.include(exported, "NameTaken")
    assert.notInclude(exported, canaries.name)
  }))

it("the name of a SQL span is its operation and table", () => {
  assert.strictEqual(Telemetry.queryName("SELECT id FROM contacts WHERE id = $1"), "SELECT contacts")
  assert.strictEqual(Telemetry.queryName("\n  INSERT INTO \"tags\" (id) VALUES ($1)"), "INSERT tags")
  assert.strictEqual(Telemetry.queryName("UPDATE sends SET status = $1"), "UPDATE sends")
  assert.strictEqual(Telemetry.queryName("SELECT now()"), "SELECT")
  assert.strictEqual(Telemetry.queryName("BEGIN"), "SQL")
})

/** A collector that is down until a test starts it, and the texts of what it received. */
const downCollector = () => {
  const state: { status: number | null; readonly received: Array<string> } = { status: null, received: [] }
  const client = HttpClient.make((request) =>
    Effect.suspend(() => {
      if (state.status === null) {
        return Effect.fail(
          new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) })
        )
      }
      if (state.status === 200 && request.body._tag === "Uint8Array") {
        state.received.push(new TextDecoder().decode(request.body.body))
      }
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("{}", { status: state.status })))
    })
  )
  return { client, state }
}

it.effect("the exporter drops traces only while the collector is down, and logs each change once", () =>
  Effect.gen(function*() {
    const { client, state } = downCollector()
    const logged: Array<unknown> = []
    const logger = Logger.make(({ logLevel, message }) => void logged.push([logLevel, message].flat().join(" ")))
    yield* Effect.gen(function*() {
      const tracer = yield* OtlpTracer.make({ url: "http://collector/v1/traces", resource: { serviceName: "crm" } })
      const span = (name: string) => Effect.withSpan(Effect.void, name).pipe(Effect.withTracer(tracer))
      for (let second = 0; second < 60; second++) {
        yield* span(`down ${second}`)
        yield* TestClock.adjust("1 second")
      }
      state.status = 401
      yield* TestClock.adjust("20 seconds")
      state.status = 200
      yield* span("up")
      yield* TestClock.adjust("20 seconds")
    }).pipe(
      Effect.provide([OtlpExporter.layerFlusher, OtlpSerialization.layerJson]),
      Effect.provideServiceEffect(HttpClient.HttpClient, Telemetry.exporting(client)),
      Effect.provide(Logger.layer([logger]))
    )
    assert.isTrue(state.received.some((text) => text.includes("\"name\":\"up\"")), state.received.join("\n"))
    assert.lengthOf(logged, 2)
    assert.match(String(logged[0]), /^Warn Telemetry export failed/)
    assert.match(String(logged[1]), /^Info Telemetry is exported again/)
  }).pipe(Effect.scoped))

it.effect("no span is created if none is exported", () =>
  Effect.gen(function*() {
    const span = yield* Effect.currentSpan.pipe(Effect.withSpan("tags.create"))
    assert.isFalse(span.sampled)
    assert.isNull(yield* CoreTraces.current.pipe(Effect.withSpan("tags.create")))
  }).pipe(Effect.provide(Telemetry.layer)))

it.layer(ExportedTelemetry.layer, { excludeTestServices: true, timeout: "5 minutes" })("exported telemetry", (it) => {
  it.effect("one trace contains a request, its SQL, the work in another process and the provider", () =>
    Effect.gen(function*() {
      const { accepted, acme, spans } = yield* ExportedTelemetry
      const deliver = spans().find(({ name }) => name === "MessagingProvider.deliver")
      const trace = spans().filter(({ traceId }) => traceId === deliver?.traceId)
      const named = (name: string) => trace.find((span) => span.name === name)
      const request = named("POST /v1/conversations")
      const worker = named("Worker.send")
      for (
        const [span, above] of [
          [named("sends.start"), request],
          [worker, named("sends.start")],
          [named("Dispatch.attempt"), worker],
          [deliver, named("Dispatch.attempt")]
        ] as const
      ) {
        assert.isTrue(isBelow(trace, span, above), `${span?.name} below ${above?.name}`)
      }
      const textsOf = (span: Span | undefined) =>
        Object.fromEntries(span?.attributes.map(({ key, value }) => [key, value["stringValue"]]) ?? [])
      assert.strictEqual(textsOf(worker)["ref"], JSON.parse(accepted.text).data.id)
      const ids = textsOf(request)
      assert.strictEqual(ids["organization_id"], acme.organization_id)
      assert.match(String(ids["key_id"]), /^[0-9a-f-]{36}$/)
      const statements = trace.filter(({ attributes }) => attributes.some((each) => each.key === "db.query.text"))
      assert.isTrue(statements.some((span) => isBelow(trace, span, request) && !isBelow(trace, span, worker)))
      assert.isTrue(statements.some((span) => isBelow(trace, span, worker)))
    }))

  it.effect("traces, logs, and metrics are exported with the collector's key and without personal data", () =>
    Effect.gen(function*() {
      const { acme: { key }, received, spans } = yield* ExportedTelemetry
      assert.isTrue(received.every((each) => each.key === canaries.collector_key))
      const exported = received.map(({ text }) => text).join("\n").toLowerCase()
      for (const canary of [...Object.values(canaries), key, canaries.phone.slice(1)]) {
        assert.notInclude(exported, canary.toLowerCase())
      }
      assert.include(exported, "service.version")
      assert.isFalse(spans().some(({ name }) => name.includes("health")))
    }))

  it.effect("each exported metric has a unit, and the name of /metrics without it", () =>
    Effect.gen(function*() {
      const { metrics, serving, working } = yield* ExportedTelemetry
      assert.include(metrics.map(({ name }) => name), "http.server.request.duration")
      const families = new Set([...serving.keys(), ...working.keys()].map((sample) => sample.split("{")[0]))
      const suffixes: Readonly<Record<string, string>> = { By: "_bytes", s: "_seconds" }
      for (const { gauge, histogram, name, sum, unit } of metrics) {
        assert.match(unit, /^(s|By|\{\w+\})$/, name)
        const points = [gauge, histogram, sum].flatMap((data) => data?.dataPoints ?? [])
        assert.notInclude(points.flatMap(({ attributes }) => attributes.map(({ key }) => key)), "unit", name)
        const ending = [[sum, "_total"], [histogram, "_count"]].find(([kind]) => kind !== undefined)?.[1] ?? ""
        assert.isTrue(families.has(`${name.replaceAll(".", "_")}${suffixes[unit] ?? ""}${ending}`), name)
      }
    }))

  it.effect("/metrics counts requests, and measures the pools, the queue, and the process", () =>
    Effect.gen(function*() {
      const { serving, working } = yield* ExportedTelemetry
      const ofRequests = (name: string, status: number, more = "") =>
        serving.get(
          `http_server_request_duration_seconds_${name}{http_request_method="POST",http_route="/v1/conversations",http_response_status_code="${status}"${more}}`
        )
      for (const status of [202, 400]) {
        assert.strictEqual(ofRequests("count", status), 1)
        assert.strictEqual(ofRequests("bucket", status, ",le=\"+Inf\""), 1)
      }
      assert.strictEqual(
        serving.get(`messaging_crm_build_info{version="${manifest.version}",node="${process.version}"}`),
        1
      )
      assert.isAbove(serving.get("nodejs_heap_used_bytes") ?? 0, 1_000_000)
      for (const pool of ["shared", "commits", "searches"]) {
        const labels = `{db_client_connection_pool_name="${pool}"}`
        assert.isAbove(serving.get(`db_client_connection_max${labels}`) ?? 0, 0)
        assert.isAtLeast(serving.get(`db_client_connection_pending_requests${labels}`) ?? -1, 0)
      }
      assert.strictEqual(serving.get("messaging_crm_storage_up"), 1)
      assert.strictEqual(serving.get("messaging_crm_work_items{kind=\"send\",state=\"due\"}"), 0)
      assert.strictEqual(serving.get("messaging_crm_work_oldest_due_seconds{kind=\"send\"}"), 0)
      assert.isAbove(serving.get("process_memory_usage_bytes") ?? 0, 1_000_000)
      assert.strictEqual(serving.get("messaging_crm_webhooks_disabled_total{reason=\"gone\"}"), 0)
      assert.strictEqual(working.get("messaging_crm_send_attempts_total{outcome=\"accepted\",reason=\"none\"}"), 1)
    }))

  it.effect("/metrics has every metric that the dashboard, the alerts, and the guide name", () =>
    Effect.gen(function*() {
      const { serving, working } = yield* ExportedTelemetry
      // Names of metrics and of their labels.
      const sampled = [...serving.keys(), ...working.keys()].flatMap((name) => name.match(/\w+/g) ?? [])
      const known = [...sampled, ...sampled.map((name) => name.replace(/_count$/, ""))]
      const shown = ["dashboard.json", "alerts.yaml", "alerts.test.yaml", "monitoring.md"].map((file) =>
        readFileSync(new URL(`../../../../docs/${file}`, import.meta.url), "utf8")
      ).join("\n")
      for (const [name] of shown.matchAll(/\b(messaging_crm|process|nodejs|http_server|db_client)_\w+/g)) {
        assert.include(known, name)
      }
    }))
})
