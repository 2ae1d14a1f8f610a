/** How a request can write a time (contract §1.3). */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { DateTime, Exit, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { afterAll } from "vitest"
import { documented, resolve } from "../testing/Document.ts"
import { idempotency, start } from "../testing/Service.ts"
import type { Schema as Documented } from "./Generated.ts"

/** Texts of times, with the time in UTC that each states. */
const accepted = [
  ["2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z"],
  // Python's `isoformat()` of a time in UTC.
  ["2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20T10:00:00.123456+00:00", "2026-11-20T10:00:00.123Z"],
  ["2026-11-20T11:00:00+01:00", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20T04:30:00-05:30", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20T10:00:00-00:00", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20t10:00:00z", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20T10:00:00.1Z", "2026-11-20T10:00:00.100Z"],
  ["2026-11-20T10:00:00.12Z", "2026-11-20T10:00:00.120Z"],
  ["2026-11-20T10:00:00.999999999Z", "2026-11-20T10:00:00.999Z"],
  ["1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999Z"],
  ["2026-11-21T09:59:00+23:59", "2026-11-20T10:00:00.000Z"],
  ["2026-11-19T10:01:00-23:59", "2026-11-20T10:00:00.000Z"],
  ["2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00.000Z"],
  ["2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"],
  ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"]
] as const

const rejected = [
  "",
  "now",
  "1795168860",
  "2026-11-20",
  "2026-11-20T10:00Z",
  "2026-11-20T10:00:00",
  "2026-11-20 10:00:00Z",
  " 2026-11-20T10:00:00Z",
  "2026-11-20T10:00:00Z\n",
  "2026-11-20T10:00:00.Z",
  "2026-11-20T10:00:00,5Z",
  "2026-11-20T10:00:00.0123456789Z",
  "2026-11-20T10:00:00+01",
  "2026-11-20T10:00:00+0100",
  "2026-11-20T10:00:00+24:00",
  "2026-11-20T10:00:00-05:60",
  "2026-11-20T10:00:00\u221205:00",
  "2026-11-20T10:00:00 CET",
  "2026-02-29T10:00:00Z",
  "2026-02-30T10:00:00+00:00",
  "2026-13-01T10:00:00Z",
  "2026-11-00T10:00:00Z",
  "2026-11-20T24:00:00Z",
  "2026-11-20T25:00:00Z",
  "2026-11-20T10:60:00Z",
  "2016-12-31T23:59:60Z",
  "2026-11-20T10:00:61Z",
  "0000-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-00:01",
  "-001-11-20T10:00:00Z",
  "+012026-11-20T10:00:00Z",
  "\u0662026-11-20T10:00:00Z"
] as const

const isTime = (ast: SchemaAST.AST): boolean => Schema.is(Schema.make(SchemaAST.toType(ast)))(DateTime.makeUnsafe(0))

interface Field {
  readonly name: string
  readonly ast: SchemaAST.AST
}

/** Returns every field of a schema, at any depth, that decodes to a time. */
const timesIn = (ast: SchemaAST.AST): ReadonlyArray<Field> => {
  switch (ast._tag) {
    case "Objects":
      return ast.propertySignatures.flatMap(({ name, type }) =>
        isTime(type) ? [{ name: String(name), ast: type }] : timesIn(type)
      )
    case "Arrays":
      return [...ast.elements, ...ast.rest].flatMap(timesIn)
    case "Union":
      return ast.types.flatMap(timesIn)
    default:
      return []
  }
}

interface Place extends Field {
  readonly endpoint: HttpApiEndpoint.Top
  readonly in: "query" | "body"
}

const places: Array<Place> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const query = endpoint.query === undefined ? [] : timesIn(endpoint.query.ast)
    const bodies = Array.from(endpoint.payload.values()).flatMap(({ schemas }) =>
      schemas.flatMap(({ ast }) => timesIn(ast))
    )
    places.push(
      ...query.map((field) => ({ ...field, endpoint, in: "query" as const })),
      ...bodies.map((field) => ({ ...field, endpoint, in: "body" as const }))
    )
  }
})

const nameOf = ({ endpoint, in: where, name }: Place) => `${endpoint.method} ${endpoint.path} ${where} ${name}`

const decoderOf = ({ ast }: Field) =>
  // None of the contract's schemas needs a service.
  Schema.decodeUnknownExit(Schema.make(ast) as Schema.Codec<unknown>)

describe("every time in a request", () => {
  for (const place of places) {
    it(nameOf(place), () => {
      const decode = decoderOf(place)
      for (const [text, time] of accepted) {
        assert.deepStrictEqual(decode(text), Exit.succeed(DateTime.makeUnsafe(time)), text)
      }
      for (const text of rejected) assert.isTrue(Exit.isFailure(decode(text)), text)
      const unencoded = decode("2026-11-20T15:30:00.5 05:30")
      if (place.in === "body") assert.isTrue(Exit.isFailure(unencoded))
      else assert.deepStrictEqual(unencoded, Exit.succeed(DateTime.makeUnsafe("2026-11-20T10:00:00.500Z")))
    })
  }

  it("is documented as one, and every parameter and field that its name shows to be one is one", () => {
    // `after` alone is the cursor of followed events.
    const isNamed = (name: string) => /(^|_)(at|since|until|before|time)$|_after$/.test(name)
    const found = documented.flatMap(({ method, operation, path }) => {
      const schema = operation.requestBody?.content["application/json"]?.schema
      const { properties = {} } = schema === undefined ? {} : resolve<Documented>(schema)
      const parameters = operation.parameters.flatMap((each) =>
        "schema" in each ? [["query", each.name, each.schema as Documented] as const] : []
      )
      const fields = Object.entries(properties).map(([name, field]) => ["body", name, field] as const)
      return [...parameters, ...fields].flatMap(([where, name, field]) =>
        isNamed(name) || field.format === "date-time"
          ? [{ name: `${method} /v1${path.replaceAll(/\{(\w+)\}/g, ":$1")} ${where} ${name}`, format: field.format }]
          : []
      )
    })
    assert.isAtLeast(found.length, 4)
    assert.deepStrictEqual(found.map(({ name }) => name).toSorted(), places.map(nameOf).toSorted())
    for (const { format, name } of found) assert.strictEqual(format, "date-time", name)
  })
})

describe("over HTTP", () => {
  const service = start()
  afterAll(() => service.stop())

  it("accepts a time with any offset in a query, also with an unencoded +, and keeps the cursor of each spelling", async () => {
    const { key } = await service.organization()
    for (const first_name of ["Ada", "Eve"]) {
      await service.request("POST", "/v1/contacts", { key, json: { first_name }, ...idempotency() })
    }
    const list = (time: string, rest = "") =>
      service.request("GET", `/v1/contacts?page_size=1&updated_since=${time}${rest}`, { key })
    const first = await list("2026-11-20T10:00:00Z")
    assert.lengthOf(first.body.data, 1)
    const cursor = `&cursor=${encodeURIComponent(String(first.body.next_cursor))}`
    const spellings = [
      "2026-11-20T10:00:00+00:00",
      "2026-11-20T10:00:00%2B00:00",
      "2026-11-20T10:00:00.000456+00:00",
      "2026-11-20T11:00:00+01:00",
      "2026-11-20t04:30:00-05:30"
    ]
    for (const spelling of spellings) {
      const second = await list(spelling, cursor)
      assert.deepStrictEqual([second.status, second.body.data.length], [200, 1], spelling)
    }
    assert.strictEqual((await list("2026-11-20T10:00:01Z", cursor)).body.error.param, "cursor")
  })

  it("loses nothing after a time between two milliseconds", async () => {
    const { key } = await service.organization()
    const json = { first_name: "Ada" }
    const { body: { data: { updated_at } } } = await service.request("POST", "/v1/contacts", {
      key,
      json,
      ...idempotency()
    })
    const since = updated_at.replace("Z", "999999Z")
    assert.lengthOf((await service.request("GET", `/v1/contacts?updated_since=${since}`, { key })).body.data, 1)
  })

  it("states in an error how to write a time", async () => {
    const { key } = await service.organization()
    const { body, status } = await service.request("GET", "/v1/events?since=2026-11-20", { key })
    assert.strictEqual(status, 400)
    assert.deepInclude(body.error, {
      param: "since",
      message: "since must be an RFC 3339 time, such as 2026-11-20T10:00:00Z."
    })
  })

  it("stores a time in UTC with milliseconds", async () => {
    const { key } = await service.organization()
    const json = { url: "https://shop.example/crm", event_types: ["message.sent"] }
    const { body: { data: { id } } } = await service.request("POST", "/v1/webhooks", { key, json, ...idempotency() })
    const time = new Date().toISOString()
    const local = new Date(Date.parse(time) + 3_600_000).toISOString().replace("Z", "456+01:00")
    const replay = { key, json: { since: local }, ...idempotency() }
    const { body, status } = await service.request("POST", `/v1/webhooks/${id}/replay`, replay)
    assert.deepStrictEqual([status, body.data.since], [202, time])
  })
})
