/** Requests to a process with several cells, whose storages are in memory. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Metric, References } from "effect"
import { HttpServer } from "effect/http"
import { Cell } from "../../src/cells/Cell.ts"
import { Cells } from "../../src/cells/Cells.ts"
import * as Front from "../../src/cells/Front.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import { startCell } from "./CellsScene.ts"

/** Serves cells, and returns a function that sends a request. */
const serve = Effect.fnUntraced(function*(all: ReadonlyArray<Cell>) {
  const context = yield* Layer.build(
    Front.layer({ ingress: Layer.empty }).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
      Layer.provide([Layer.succeed(Cells, { all }), Layers.tuning, Layer.succeed(References.MinimumLogLevel, "None")])
    )
  )
  const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
  return (path: string, key?: string, json?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(`${address}${path}`, {
        headers: {
          connection: "close",
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" })
        },
        ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) })
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text }
    })
})

const started = Effect.gen(function*() {
  const cells = [yield* startCell("one"), yield* startCell("two")] as const
  return { cells, all: cells.map(({ cell }) => cell) }
})

const stranger = `svc_live_${"a".repeat(43)}`

it.live("each key reads and writes in its own cell, and each request is counted once", () =>
  Effect.gen(function*() {
    const { all, cells } = yield* started
    const request = yield* serve(all)
    for (const [index, { organization: { key } }] of cells.entries()) {
      const created = yield* request("/v1/tags", key, { name: `tag ${index}`, color: "red" })
      assert.strictEqual(created.status, 200, created.text)
      assert.strictEqual(created.headers.get("x-ratelimit-remaining"), "119")
      const listed = yield* request("/v1/tags", key)
      assert.strictEqual(listed.headers.get("x-ratelimit-remaining"), "118")
      assert.deepStrictEqual(
        JSON.parse(listed.text).data.map(({ name }: { readonly name: string }) => name),
        [`tag ${index}`]
      )
    }
    assert.strictEqual((yield* request("/v1/tags", stranger)).status, 401)
    assert.strictEqual((yield* request("/v1/tags", "no key")).status, 401)
    assert.strictEqual((yield* request("/v1/tags")).status, 401)
  }).pipe(Effect.scoped))

it.live("a key whose organization has left one cell, and does not arrive in another, gets 503", () =>
  Effect.gen(function*() {
    const [one, two] = [yield* startCell("one"), yield* startCell("two")]
    const left = new Cell("one", { ...one.running, isMoving: () => Effect.succeed(true) })
    const away = yield* serve([left, two.cell])
    const response = yield* away("/v1/tags", stranger)
    assert.deepStrictEqual(
      [response.status, JSON.parse(response.text).error.code, response.headers.get("retry-after")],
      [503, "organization_closed", "1"]
    )
    assert.strictEqual((yield* away("/v1/tags", two.organization.key)).status, 200)
  }).pipe(Effect.scoped))

it.live("a key that arrives in another cell while it is looked up is found there", () =>
  Effect.gen(function*() {
    const [one, two, empty] = [yield* startCell("one"), yield* startCell("two"), yield* startCell("empty")]
    const arriving = { ...empty.running }
    const arrive = Effect.sync(() => {
      Object.assign(arriving, two.running)
      return true
    })
    const request = yield* serve([
      new Cell("one", { ...one.running, isMoving: () => arrive }),
      new Cell("two", arriving)
    ])
    assert.strictEqual((yield* request("/v1/tags", two.organization.key)).status, 200)
  }).pipe(Effect.scoped))

it.live("a link to a file is served by the cell of its organization", () =>
  Effect.gen(function*() {
    const { all, cells } = yield* started
    const request = yield* serve(all)
    for (const { organization: { channel, key }, service } of cells) {
      const bytes = new TextEncoder().encode(`a file of ${key}`)
      yield* Effect.promise(() =>
        service.receive(channel.id, {
          type: "document",
          text: null,
          media: { kind: "document", mime_type: "text/plain", filename: "file.txt", transcript: null, bytes }
        })
      )
      const [conversation] = JSON.parse((yield* request("/v1/conversations", key)).text).data
      const [message] = JSON.parse((yield* request(`/v1/conversations/${conversation.id}/messages`, key)).text).data
      const { pathname } = new URL(message.media.url)
      for (let time = 0; time < 2; time++) {
        const file = yield* request(pathname)
        assert.deepStrictEqual([file.status, file.text], [200, `a file of ${key}`])
      }
      assert.strictEqual((yield* request(`${pathname}x`)).status, 404)
    }
    assert.strictEqual((yield* request("/media/x")).status, 404)
  }).pipe(Effect.scoped))

it.live("an organization that is in another cell now is found there, and its first request succeeds", () =>
  Effect.gen(function*() {
    const { all, cells: [one, two] } = yield* started
    const request = yield* serve(all)
    const { key } = one.organization
    const created = yield* request("/v1/tags", key, { name: "moved", color: "red" })
    assert.strictEqual(created.status, 200)
    // Both cells get the contents of the other.
    const { readiness, respond, services } = one.running
    Object.assign(one.running, two.running)
    Object.assign(two.running, { readiness, respond, services })
    const listed = yield* request("/v1/tags", key)
    assert.strictEqual(listed.status, 200)
    assert.include(listed.text, "moved")
    assert.strictEqual(listed.headers.get("x-ratelimit-remaining"), "118")
  }).pipe(Effect.scoped))

it.live("while a cell is down, requests to the others succeed, and an unrecognized key gets 503", () =>
  Effect.gen(function*() {
    const { all, cells: [one] } = yield* started
    const request = yield* serve([new Cell("down"), ...all])
    assert.strictEqual((yield* request("/v1/tags", one.organization.key)).status, 200)
    assert.strictEqual((yield* request("/v1/tags", one.organization.key)).status, 200)
    const unknown = yield* request("/v1/tags", stranger)
    assert.deepStrictEqual(
      [unknown.status, JSON.parse(unknown.text).error.code, unknown.headers.get("retry-after")],
      [503, "organization_closed", "1"]
    )
    const ready = yield* request("/health/ready")
    assert.strictEqual(ready.status, 200)
    assert.deepStrictEqual(JSON.parse(ready.text), {
      status: "degraded",
      cells: {
        down: { status: "unavailable", reason: "not_started" },
        one: { status: "ok" },
        two: { status: "ok" }
      }
    })
  }).pipe(Effect.scoped))

it.live("the OpenAPI document, the docs page, and unknown paths need no cell of their own", () =>
  Effect.gen(function*() {
    const { all } = yield* started
    const request = yield* serve(all)
    assert.strictEqual((yield* request("/v1/openapi.json")).status, 200)
    assert.strictEqual((yield* request("/docs")).status, 200)
    assert.strictEqual((yield* request("/v1/nothing")).status, 404)
  }).pipe(Effect.scoped))

/** The lines of a metric. */
const linesOf = (text: string, name: string) => text.split("\n").filter((line) => line.startsWith(name)).toSorted()

it.live("the queue of each cell has its own metrics, and that of a cell which has not started is unknown", () =>
  Effect.gen(function*() {
    const { all } = yield* started
    const request = yield* serve([...all, new Cell("down")])
    const { text } = yield* request("/metrics")
    assert.deepStrictEqual(linesOf(text, "messaging_crm_storage_up"), [
      `messaging_crm_storage_up{cell="down"} 0`,
      `messaging_crm_storage_up{cell="one"} 1`,
      `messaging_crm_storage_up{cell="two"} 1`
    ])
    for (const { name } of all) {
      assert.lengthOf(linesOf(text, `messaging_crm_callbacks_waiting{cell="${name}"}`), 1)
    }
  }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map())))
