/** The OpenAPI document against the specification, the contract and the running service. */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { AnyEventType, Event } from "@messaging-crm/core/Events"
import { Context, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { afterAll } from "vitest"
import * as Examples from "../src/api/Examples.ts"
import {
  document,
  documented,
  flawOf,
  judge,
  type Media,
  type Operation,
  resolve,
  type Response
} from "../testing/Document.ts"
import { operations } from "../testing/Operations.ts"
import { idempotency, start } from "../testing/Service.ts"
import { settle } from "./DocumentScene.ts"
import { type Line, lines } from "./Specification.ts"

const service = start()
afterAll(() => service.stop())

const successOf = ({ responses }: Operation): readonly [status: string, media: Media] => {
  const status = Object.keys(responses).find((each) => each.startsWith("2")) ?? ""
  const media = resolve<Response>(responses[status]).content["application/json"]
  if (media === undefined) throw new Error("The operation does not respond with JSON.")
  return [status, media]
}

const resourceOf = ({ schema }: Media): string => {
  const { data } = (schema as { readonly properties: { readonly data: object } }).properties
  const nameOf = ({ $ref }: { readonly $ref: string }) => $ref.slice("#/components/schemas/".length)
  return "items" in data ? `[${nameOf(data.items as { $ref: string })}]` : nameOf(data as { $ref: string })
}

/** The line of the specification that an operation of the document would be. */
const lineOf = ({ method, operation, path }: typeof documented[number]): Line => {
  const [status, media] = successOf(operation)
  const query = operation.parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name)
  const key = operation.parameters.find(({ name }) => name === "Idempotency-Key")
  const necessity = (required: boolean) => required ? "required" as const : "optional" as const
  return {
    operation: `${method} ${path}`,
    // The table has the scopes as words of the type.
    scope: operation["x-required-scope"] as Line["scope"],
    status: Number(status),
    response: resourceOf(media),
    ...(query.length === 0 ? {} : { query: query.toSorted() }),
    ...(operation.requestBody === undefined ? {} : { body: necessity(operation.requestBody.required) }),
    ...(key === undefined ? {} : { key: necessity(key.required) })
  }
}

const byOperation = (a: { readonly operation: string }, b: { readonly operation: string }) =>
  a.operation < b.operation ? -1 : 1

describe("the specification, the routes and the document", () => {
  it("have the same operations, with the same scopes, statuses, parameters and bodies", () => {
    const specified = lines.map((line) => line.query === undefined ? line : { ...line, query: line.query.toSorted() })
    assert.deepStrictEqual(documented.map(lineOf).toSorted(byOperation), specified.toSorted(byOperation))
    const routes = operations.map(({ method, path }) => `${method} ${path}`.replace(/:(\w+)/g, "{$1}"))
    assert.deepStrictEqual(
      routes.toSorted(),
      lines.map(({ operation }) => operation.replace(" ", " /v1")).toSorted()
    )
  })
})

describe("every example", () => {
  const endpoints: Array<HttpApiEndpoint.Top> = []
  HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => void endpoints.push(endpoint) })

  const decodes = (schemas: ReadonlyArray<Schema.Top>, value: unknown): boolean =>
    // None of the contract's schemas needs a service.
    schemas.some((schema) =>
      Schema.decodeUnknownExit(schema as Schema.Codec<unknown>)(value, { onExcessProperty: "error" })._tag === "Success"
    )

  it("exists: a response of every operation, and a request of every operation with a body", () => {
    for (const endpoint of endpoints) {
      const { requests, response } = Context.get(endpoint.annotations, Examples.Example)
      assert.isDefined(response, endpoint.path)
      assert.strictEqual(requests === undefined, endpoint.payload.size === 0, endpoint.path)
    }
  })

  it("decodes with its schema", () => {
    for (const endpoint of endpoints) {
      const { requests = {}, response } = Context.get(endpoint.annotations, Examples.Example)
      assert.isTrue(decodes(Array.from(endpoint.success), response), `${endpoint.method} ${endpoint.path}`)
      const payloads = Array.from(endpoint.payload.values()).flatMap(({ schemas }) => schemas)
      for (const [name, request] of Object.entries(requests)) assert.isTrue(decodes(payloads, request), name)
    }
  })

  it("of an event is valid, and one that the service could post", () => {
    assert.sameMembers(Object.keys(document.webhooks), [...AnyEventType.literals])
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      const { examples, schema } = post.requestBody.content["application/json"] ?? { examples: {}, schema: {} }
      const { value } = resolve<{ readonly value: unknown }>(examples["event"])
      assert.isNull(flawOf(schema, value), type)
      assert.strictEqual(Schema.decodeUnknownSync(Event)(value).type, type)
    }
  })

  it("is valid by the document, and every code that a rejection may have has one", () => {
    for (const { operation } of documented) {
      const responses = Object.entries(operation.responses).map(([status, response]) =>
        [status, resolve<Response>(response).content["application/json"]] as const
      )
      const bodies = [["request", operation.requestBody?.content["application/json"]] as const, ...responses]
      for (const [of, media] of bodies) {
        for (const [name, example] of Object.entries(media?.examples ?? {})) {
          const { value } = resolve<{ readonly value: unknown }>(example)
          assert.isNull(flawOf(media?.schema, value), `${operation.operationId} ${of} ${name}`)
          if (/^[45]/.test(of)) assert.strictEqual((value as { error: { code: string } }).error.code, name)
        }
        assert.isTrue(of === "request" || Object.keys(media?.examples ?? {}).length > 0, operation.operationId)
      }
    }
  })
})

const byMethod = (a: { readonly method: string }, b: { readonly method: string }): number =>
  Number(a.method === "DELETE") - Number(b.method === "DELETE")

describe("the service", () => {
  it("accepts every documented request, and returns the documented status", async () => {
    const { key, named } = await settle(service)
    // What is disabled cannot be used any more.
    for (const { method, operation, path } of documented.toSorted(byMethod)) {
      const [status] = successOf(operation)
      const concrete = path.replace(/\{(\w+)\}/g, (_, name: keyof typeof Examples.ids) => Examples.ids[name])
      const examples = Object.values(operation.requestBody?.content["application/json"]?.examples ?? { none: {} })
      for (const { value } of examples) {
        const response = await service.request(method, named(`/v1${concrete}`), {
          key,
          ...(value === undefined ? {} : { json: JSON.parse(named(JSON.stringify(value))) }),
          ...(method === "GET" ? {} : idempotency())
        })
        assert.strictEqual(response.status, Number(status), `${operation.operationId}: ${response.text}`)
      }
    }
  })

  it("is checked: an undocumented status, field, header value, or media type fails", async () => {
    const { key } = await service.organization()
    const request = { method: "GET", path: "/v1/tags" }
    const good = await service.request("GET", "/v1/tags", { key })
    const without = (name: string) => {
      const headers = new Headers(good.headers)
      headers.delete(name)
      return headers
    }
    const withValue = (name: string, value: string) => {
      const headers = new Headers(good.headers)
      headers.set(name, value)
      return headers
    }
    judge(request, good)
    assert.throws(() => judge(request, { ...good, status: 201 }), /status is not documented/)
    assert.throws(() => judge(request, { ...good, text: "{\"data\":[]}" }), /next_cursor/)
    assert.throws(() => judge(request, { ...good, text: "{\"data\":[],\"next_cursor\":null,\"x\":1}" }), /additional/)
    assert.throws(() => judge(request, { ...good, headers: without("x-ratelimit-limit") }), /missing/)
    assert.throws(() => judge(request, { ...good, headers: withValue("x-ratelimit-reset", "soon") }), /integer/)
    assert.throws(() => judge(request, { ...good, headers: withValue("content-type", "text/html") }), /media type/)
  })
})

it("titles each webhook with the type of its event, so that a reader finds it by this name", () => {
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    assert.strictEqual(post.summary, type)
    assert.match(post.description, /^[A-Z][^]+\. Respond immediately/)
  }
})

it("names every operation once, for generated clients, and describes every parameter", () => {
  const names = documented.map(({ operation }) => operation.operationId)
  assert.deepStrictEqual(Array.from(new Set(names)), names)
  for (const { operation } of documented) {
    assert.match(operation.operationId, /^[a-z]+[A-Za-z]+$/)
    assert.isAbove(operation.summary.length, 0)
    assert.isAbove(operation.description.length, 0)
    for (const parameter of operation.parameters) {
      const { description, example } = resolve<{ readonly description: string; readonly example?: unknown }>(parameter)
      assert.isAbove(description.length, 0, operation.operationId)
      assert.isDefined(example, `${operation.operationId} ${parameter.name}`)
    }
  }
  assert.isAbove(Object.keys(document.components.schemas ?? {}).length, 0)
})
