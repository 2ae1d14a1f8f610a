/** The whole service behind a socket, called with texts that no HTTP client would send, and the checks of its responses. */
import { Effect, Layer, ManagedRuntime } from "effect"
import { HttpServer } from "effect/http"
import { connect } from "node:net"
import { assert } from "vitest"
import { start } from "../../../adapter-http/testing/Service.ts"
import { Cell, makeApi } from "../../src/cells/Cell.ts"
import { Cells } from "../../src/cells/Cells.ts"
import * as Front from "../../src/cells/Front.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import { converse, host, request } from "./RawHttp.ts"

/** A row of a table: what is sent, and everything that the contract says about the response. */
export interface Row {
  readonly rule: string
  /** The texts that are sent, each after a response to the previous one. */
  readonly send: string | ReadonlyArray<string>
  readonly status: number
  readonly code?: string
  readonly param?: string | null
  /** Whether the window of the key has counted the request, so that the response has the rate headers. */
  readonly counted: boolean
  readonly end: "kept" | "closed"
  /** Whether 100 Continue precedes the response. */
  readonly continued?: boolean
  readonly headers?: Readonly<Record<string, string | RegExp | null>>
}

const scopes = [
  "contacts:read",
  "contacts:write",
  "conversations:write",
  "messages:send",
  "tags:read",
  "webhooks:manage"
] as const

const rate_headers = [
  ["x-ratelimit-limit", /^120$/],
  ["x-ratelimit-remaining", /^\d+$/],
  ["x-ratelimit-reset", /^\d{10}$/],
  ["ratelimit-policy", /^"default";q=120;w=60$/],
  ["ratelimit", /^"default";r=\d+;t=\d+$/]
] as const

const checkHeader = (name: string, actual: string | undefined, expected: string | RegExp | null) => {
  if (expected === null) assert.isUndefined(actual, name)
  else if (typeof expected === "string") assert.strictEqual(actual, expected, name)
  else assert.match(actual ?? "", expected, name)
}

const responsesOf = (received: string) =>
  received.split(/(?=HTTP\/1\.1 \d{3} )/).map((text) => {
    const end = text.indexOf("\r\n\r\n")
    const [line = "", ...fields] = text.slice(0, end).split("\r\n")
    const headers = new Map(fields.map((field) => {
      const at = field.indexOf(":")
      return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()] as const
    }))
    return { status: Number(line.split(" ")[1]), headers, body: text.slice(end + 4), fields: fields.length }
  })

type Response = ReturnType<typeof responsesOf>[number]

/** Checks the headers that depend on no more than the status, and on whether the request was counted. */
const checkHeaders = ({ counted, end, headers = {}, status }: Row, response: Response) => {
  assert.strictEqual(response.headers.size, response.fields, "a header is repeated")
  const expected = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": /^[\w.-]{1,128}$/,
    allow: status === 405 ? /^[A-Z, ]+$/ : null,
    "www-authenticate": status === 401 ? "Bearer" : null,
    "retry-after": [429, 503].includes(status) ? /^[1-9]\d*$/ : null,
    "access-control-allow-origin": null,
    ...Object.fromEntries(rate_headers.map(([name, form]) => [name, counted ? form : null])),
    ...headers
  }
  for (const [name, form] of Object.entries(expected)) checkHeader(name, response.headers.get(name), form)
  assert.strictEqual(response.headers.get("connection") === "close", end === "closed", "connection")
}

const checkBody = ({ code, param = null }: Row, { body, headers }: Response) => {
  if (!headers.has("transfer-encoding")) {
    assert.strictEqual(Buffer.byteLength(body), Number(headers.get("content-length") ?? 0))
  }
  if (code === undefined) return
  assert.strictEqual(headers.get("content-type"), "application/json")
  const { error } = JSON.parse(body)
  assert.hasAllKeys(error, ["code", "message", "param", "request_id"])
  assert.deepStrictEqual([error.code, error.param], [code, param])
  assert.strictEqual(error.request_id, headers.get("x-request-id"))
}

const probe = request("GET /health/live HTTP/1.1", host, "Connection: close")

type Service = ReturnType<typeof start>

const never = { ingress: Layer.empty } as const

/** The API over one storage. */
const single = async (service: Service) =>
  Layers.api(Effect.succeed(false), never).pipe(
    Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
    Layer.provide(Layer.succeedContext(await service.runtime.context()))
  )

const cellOf = Effect.fnUntraced(function*(name: string, service: Service) {
  const services = yield* Effect.promise(() => service.runtime.context())
  return new Cell(name, {
    services,
    isMoving: () => Effect.succeed(false),
    readiness: Effect.succeed({ status: "unavailable" }),
    respond: yield* makeApi(services)
  })
})

/** The API of a process with three cells. The organization of the tests is in the second one. */
const celled = async (service: Service) =>
  Front.layer(never).pipe(
    Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
    Layer.provide(Layer.effect(
      Cells,
      Effect.map(
        Effect.all([cellOf("first", start()), cellOf("second", service), cellOf("third", start())]),
        (all) => ({ all })
      )
    ))
  )

/** Starts the service as `serve` does, but with its storage in memory, and never ready. */
export const startService = async (cells: "cells" | "one" = "one") => {
  const service = start()
  const runtime = ManagedRuntime.make(await (cells === "one" ? single : celled)(service))
  const { port } = new URL(await runtime.runPromise(HttpServer.addressFormattedWith(Effect.succeed)))
  const { organization, owner } = await service.organization()
  const actor = { organization_id: organization.id, member_id: owner.id }

  const fullKey = () => service.keyWith(actor, scopes)

  /** The keys that requests name. Each request gets a new one, so that no row uses up the window of another. */
  const keys: Readonly<Record<string, () => Promise<string>>> = {
    FULL: fullKey,
    WEAK: () => service.keyWith(actor, ["tags:read"]),
    SPENT: async () => {
      const key = await service.keyWith(actor, ["tags:read"])
      for (let number = 0; number < 120; number++) await service.request("GET", "/v1/tags", { key })
      return key
    }
  }

  const withKeys = async (text: string) => {
    const [, scheme = "", name = ""] = /^Authorization: (\w+) (FULL|WEAK|SPENT)\r$/m.exec(text) ?? []
    const key = await keys[name]?.()
    return key === undefined ? text : text.replace(`${scheme} ${name}`, `${scheme} ${key}`)
  }

  /** Sends a row's request and then another one, which shows whether the connection is kept, and checks the response. */
  const check = async (row: Row) => {
    const texts = await Promise.all([row.send].flat().map(withKeys))
    const socket = connect(Number(port), "127.0.0.1").on("error", () => {})
    const received = await Effect.runPromise(converse(socket, [...texts, probe]))
    const responses = responsesOf(received)
    const [response, ...others] = responses.filter(({ status }) => status !== 100)
    if (response === undefined) throw new Error("The connection was closed without a response.")
    assert.strictEqual(response.status, row.status, response.body)
    assert.deepStrictEqual(others.map(({ status }) => status), row.end === "kept" ? [200] : [], "other responses")
    assert.strictEqual(responses.length - others.length - 1, row.continued === true ? 1 : 0, "100 Continue")
    checkHeaders(row, response)
    if (texts[0]?.startsWith("HEAD ") === true) assert.strictEqual(response.body, "")
    else checkBody(row, response)
  }

  const stop = async () => {
    await runtime.dispose()
    await service.stop()
  }

  return { check, fullKey, origin: `http://127.0.0.1:${port}`, stop }
}
