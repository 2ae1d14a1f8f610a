/** Tests of the middleware that every request passes. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { idempotency, start, type TestResponse } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())
const { key } = await service.organization()

const code = ({ body }: TestResponse) => body?.error?.code
const param = ({ body }: TestResponse) => body?.error?.param

const tag = (name: string) => ({ name, color: "red" })

describe("every response", () => {
  it("has a request ID, which is also in the error, and is not cached", async () => {
    for (
      const [path, caching] of [
        ["/v1/tags", "no-store"],
        ["/nothing", "no-store"],
        // It is public, and the same for everybody.
        ["/v1/openapi.json", "no-cache"]
      ] as const
    ) {
      const response = await service.request("GET", path)
      assert.match(response.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
      if (response.body.error !== undefined) {
        assert.strictEqual(response.body.error.request_id, response.headers.get("x-request-id"))
        assert.hasAllKeys(response.body.error, ["code", "message", "param", "request_id"])
      }
      assert.strictEqual(response.headers.get("cache-control"), caching)
      assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
    }
  })

  it("keeps a request id of 1 to 128 plain characters, and no other", async () => {
    const idFor = async (id: string) =>
      (await service.request("GET", "/v1/tags", { headers: { "x-request-id": id } })).headers.get("x-request-id")
    for (const id of ["a", "Req_1.2-3", "x".repeat(128)]) assert.strictEqual(await idFor(id), id)
    for (const id of ["with space", "x".repeat(129), "é", "a/b"]) assert.notStrictEqual(await idFor(id), id)
  })
})

describe("routes", () => {
  it("returns 404 for an unknown path, another case, and a trailing slash", async () => {
    for (
      const path of [
        "/nothing",
        "//",
        "/v1",
        "/v1/nothing",
        "/v1/Tags",
        "/v1/tags/",
        "//v1/tags",
        "//x/v1/tags",
        "/v1/send",
        "/v1/contacts//",
        "/v1/contacts/%",
        "/v1/contacts/%ff",
        "/v1/contacts/%75psert",
        // Names have one spelling, so that each request is logged under its route.
        "/v1/%63ontacts",
        "/%761/tags",
        "/v1/contacts/01990000-0000-7000-8000-000000000000/%6Eotes",
        "/v1/openapi%2Ejson",
        "/v1/tags;x=1"
      ]
    ) {
      const response = await service.request("GET", path, { key })
      assert.strictEqual(response.status, 404, path)
      assert.strictEqual(code(response), "not_found")
    }
  })

  it("returns 405 with the supported methods for any other method, OPTIONS too", async () => {
    for (
      const [method, path, allow] of [
        ["DELETE", "/v1/tags", "GET, POST, HEAD"],
        ["OPTIONS", "/v1/contacts", "GET, POST, HEAD"],
        ["POST", "/v1/members", "GET, HEAD"],
        ["GET", "/v1/contacts/upsert", "POST"],
        ["HEAD", "/v1/contacts/upsert", "POST"],
        ["PATCH", "/v1/contacts/upsert", "POST"],
        ["PUT", "/v1/sends/x", "GET, HEAD"]
      ] as const
    ) {
      const response = await service.request(method, path, { key })
      assert.strictEqual(response.status, 405, `${method} ${path}`)
      if (method !== "HEAD") assert.strictEqual(code(response), "method_not_allowed")
      assert.strictEqual(response.headers.get("allow"), allow)
    }
  })

  it("responds to HEAD as to GET, without the body", async () => {
    const [head, get] = [
      await service.request("HEAD", "/v1/tags", { key }),
      await service.request("GET", "/v1/tags", { key })
    ]
    assert.strictEqual(head.status, get.status)
    assert.strictEqual(head.text, "")
  })
})

describe("admission", () => {
  it("returns the same 401 for every unusable key", async () => {
    const bodies = new Set<string>()
    for (const authorization of [null, "Bearer", "Bearer x", `Basic ${key}`, `Bearer svc_live_${"x".repeat(43)}`]) {
      const headers: Record<string, string> = authorization === null ? {} : { authorization }
      const response = await service.request("GET", "/v1/tags", { headers })
      assert.strictEqual(response.status, 401, String(authorization))
      assert.isNull(response.headers.get("x-ratelimit-limit"))
      assert.strictEqual(response.headers.get("www-authenticate"), "Bearer")
      bodies.add(JSON.stringify({ ...response.body.error, request_id: "" }))
    }
    assert.strictEqual(bodies.size, 1)
  })

  it("adds the rate to every authenticated response, and rejects the 121st request until the window ends", async () => {
    const other = await service.organization()
    for (let number = 1; number <= 120; number++) {
      const response = await service.request("GET", number % 2 === 0 ? "/v1/tags" : "/v1/sends/x", { key: other.key })
      assert.strictEqual(response.status, number % 2 === 0 ? 200 : 400)
      assert.strictEqual(response.headers.get("x-ratelimit-limit"), "120")
      assert.strictEqual(response.headers.get("x-ratelimit-remaining"), String(120 - number))
      assert.match(response.headers.get("x-ratelimit-reset") ?? "", /^[0-9]{10}$/)
      assert.strictEqual(response.headers.get("ratelimit-policy"), "\"default\";q=120;w=60")
      const [, left, rest] = /^"default";r=([0-9]+);t=([0-9]+)$/.exec(response.headers.get("ratelimit") ?? "") ?? []
      assert.strictEqual(left, String(120 - number))
      assert.isAtMost(Number(rest), 60)
    }
    const rejected = await service.request("GET", "/v1/tags", { key: other.key })
    assert.strictEqual(rejected.status, 429)
    assert.strictEqual(code(rejected), "rate_limited")
    assert.strictEqual(rejected.headers.get("x-ratelimit-remaining"), "0")
    assert.match(rejected.headers.get("retry-after") ?? "", /^([1-9]|[1-5][0-9]|60)$/)
    assert.strictEqual((await service.request("GET", "/v1/tags", { key })).status, 200)
  })

  it("returns 403 for a key without the scope before it reads the body", async () => {
    const ours = await service.organization()
    const actor = { organization_id: ours.organization.id, member_id: ours.owner.id }
    const weak = await service.keyWith(actor, ["tags:read"])
    const response = await service.request("POST", "/v1/tags", {
      key: weak,
      text: "{",
      headers: { "content-type": "x/y" }
    })
    assert.strictEqual(response.status, 403)
    assert.strictEqual(code(response), "insufficient_scope")
    assert.strictEqual(response.headers.get("x-ratelimit-limit"), "120")
  })
})

describe("the body", () => {
  const post = (options: Parameters<typeof service.request>[2]) =>
    service.request("POST", "/v1/tags", { key, ...options })

  it("must be JSON by name, in UTF-8, and not compressed", async () => {
    const text = JSON.stringify(tag("media"))
    for (
      const headers of [
        { "content-type": "text/plain" },
        { "content-type": "text/plain; a=application/json" },
        { "content-type": "application/jsonx" },
        { "content-type": "application/json; charset=latin1" },
        { "content-type": "application/json; profile=\"a\"; Charset = \"UTF-16\"" },
        { "content-type": "application/json; charset=utf-8; charset=latin1" },
        { "content-type": "application/merge-patch+json" },
        { "content-type": "application/json", "content-encoding": "gzip" }
      ]
    ) {
      const response = await post({ text, headers })
      assert.strictEqual(response.status, 415, JSON.stringify(headers))
      assert.strictEqual(code(response), "unsupported_media_type")
    }
    for (
      const [number, type] of [
        "application/json",
        "Application/JSON; charset=UTF-8",
        "application/json;charset=\"utf-8\"",
        "application/json; charset=utf8",
        "application/json; charset='Utf8' ;",
        "application/json; profile=\"https://crm.example/a;b\"",
        "application/json; ieee754compatible=true; charset=utf-8",
        "application/json; a=\"; charset=latin1\"",
        "application/json; a.b=\"\\\"; charset=latin1\"",
        "application/json;;",
        "application/json; q"
      ].entries()
    ) {
      const response = await post({ json: tag(`media ${number}`), headers: { "content-type": type } })
      assert.strictEqual(response.status, 200, type)
    }
  })

  it("requires the media type even if no header announces the body", async () => {
    const text = () => new Blob([JSON.stringify(tag("streamed"))]).stream()
    const response = await post({ text: text(), headers: { "content-type": "text/plain" } })
    assert.strictEqual(response.status, 415)
    assert.strictEqual(code(response), "unsupported_media_type")
    assert.strictEqual((await post({ text: text() })).status, 200)
  })

  it("is absent if it is empty, whatever its media type is", async () => {
    const path = "/v1/conversations/01990000-0000-7000-8000-000000000000/close"
    for (const empty of [() => "", () => new Blob([]).stream()]) {
      for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
        const headers = { "content-type": type, "idempotency-key": `${type} ${typeof empty()}` }
        assert.strictEqual((await service.request("POST", path, { key, text: empty(), headers })).status, 404, type)
        assert.strictEqual(code(await post({ text: empty(), headers: { "content-type": type } })), "invalid_json", type)
      }
    }
  })

  it("may have 65,536 bytes, and is rejected beyond, declared or streamed", async () => {
    const padded = (bytes: number) => `${JSON.stringify(tag("padded"))}${" ".repeat(bytes)}`.slice(0, bytes)
    assert.strictEqual((await post({ text: padded(65_536) })).status, 200)
    const streamed = new Blob([padded(65_537)]).stream()
    for (const options of [{ text: padded(65_537) }, { text: streamed, headers: { "transfer-encoding": "chunked" } }]) {
      const response = await post(options)
      assert.strictEqual(response.status, 413, typeof options.text)
      assert.strictEqual(code(response), "body_too_large", typeof options.text)
    }
  })

  it("must be valid JSON, and be there where one is required", async () => {
    for (const text of ["", "{", "{\"name\":}", "{'a':1}", "nul", Uint8Array.from([0x22, 0xff, 0x22])]) {
      const response = await post({ text })
      assert.strictEqual(response.status, 400, String(text))
      assert.strictEqual(code(response), "invalid_json", String(text))
    }
  })

  it("must not repeat a name, in any spelling, nor nest deeper than 32 levels", async () => {
    for (
      const [text, where] of [
        ["{\"name\":\"a\",\"color\":\"red\",\"name\":\"b\"}", "name"],
        ["{\"name\":\"a\",\"n\\u0061me\":\"b\"}", "name"],
        ["{\"a\":[{},{\"b\":1,\"b\":2}]}", "a.1.b"],
        [`{"name":${"[".repeat(32)}${"]".repeat(32)}}`, `name${".0".repeat(31)}`],
        [`{"name":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, `name${".0".repeat(31)}`]
      ] as const
    ) {
      const response = await post({ text })
      assert.strictEqual(code(response), "invalid_input", text.slice(0, 80))
      assert.strictEqual(param(response), where)
    }
  })

  it("must contain only known fields, and text that can be stored", async () => {
    for (
      const [text, where] of [
        ["{\"name\":\"a\",\"color\":\"red\",\"foo\":{\"bar\":1}}", "foo"],
        ["{\"__proto__\":{\"a\":1},\"name\":\"a\",\"color\":\"red\"}", "__proto__"],
        ["{\"name\":\"a\\u0000b\",\"color\":\"red\"}", "name"],
        ["{\"name\":\"\\ud800\",\"color\":\"red\"}", "name"],
        ["{\"color\":\"red\"}", "name"],
        ["[]", null],
        ["null", null],
        ["\"name\"", null]
      ] as const
    ) {
      const response = await post({ text })
      assert.strictEqual(response.status, 400, text)
      assert.strictEqual(code(response), "invalid_input")
      assert.strictEqual(param(response), where)
    }
  })
})

describe("queries", () => {
  it("rejects a parameter that is unknown, repeated or empty", async () => {
    for (
      const [path, where] of [
        ["/v1/tags?page_size=1", "page_size"],
        ["/v1/contacts?foo=1", "foo"],
        ["/v1/contacts?page_size=1&page_size=2", "page_size"],
        ["/v1/contacts?page_size=", "page_size"],
        ["/v1/contacts?page_size=0", "page_size"],
        ["/v1/contacts?page_size=101", "page_size"],
        ["/v1/contacts?page_size=1.5", "page_size"],
        ["/v1/contacts?page_size=05", "page_size"],
        ["/v1/contacts?page_size=%2B5", "page_size"],
        ["/v1/contacts?cursor=forged", "cursor"],
        [`/v1/contacts?cursor=${"x".repeat(2049)}`, "cursor"]
      ] as const
    ) {
      const response = await service.request("GET", path, { key })
      assert.strictEqual(response.status, 400, path)
      assert.strictEqual(code(response), "invalid_input", path)
      assert.strictEqual(param(response), where)
    }
    for (const query of ["cursor=", "page_size=1", "page_size=100"]) {
      assert.strictEqual((await service.request("GET", `/v1/contacts?${query}`, { key })).status, 200, query)
    }
  })
})

describe("idempotency", () => {
  const contact = (json: unknown, header?: string) =>
    service.request("POST", "/v1/contacts", {
      key,
      json,
      ...(header === undefined ? {} : { headers: { "idempotency-key": header } })
    })

  it("requires a key of 8 to 200 printable ASCII characters, and rejects a bad one where it is optional", async () => {
    for (const header of [undefined, "", "short", "x".repeat(201), "with\ttab-key", "ümlaut-key"]) {
      const response = await contact({ first_name: "A" }, header)
      assert.strictEqual(response.status, 400, header)
      assert.strictEqual(code(response), "missing_idempotency_key")
      assert.strictEqual(param(response), "Idempotency-Key")
    }
    const optional = await service.request("POST", "/v1/tags", {
      key,
      json: tag("optional"),
      headers: { "idempotency-key": "short" }
    })
    assert.strictEqual(code(optional), "missing_idempotency_key")
    assert.strictEqual((await service.request("POST", "/v1/tags", { key, json: tag("optional") })).status, 200)
  })

  it("does not record an invalid request, so that the corrected request can use the same key", async () => {
    const header = "corrected-key"
    assert.strictEqual((await contact({ first_name: 1 }, header)).status, 400)
    assert.strictEqual((await contact({}, header)).status, 400)
    assert.strictEqual((await contact({ first_name: "A" }, header)).status, 201)
  })
})

it("checks in the order of the contract", async () => {
  const ours = await service.organization()
  const actor = { organization_id: ours.organization.id, member_id: ours.owner.id }
  const weak = await service.keyWith(actor, ["tags:read"])
  const wrong = { text: "{", headers: { "content-type": "text/plain" } }
  const big = " ".repeat(70_000)
  const steps: ReadonlyArray<readonly [string, Promise<TestResponse>]> = [
    ["not_found", service.request("POST", "/v1/nothing", wrong)],
    ["method_not_allowed", service.request("PUT", "/v1/contacts", wrong)],
    ["unauthorized", service.request("POST", "/v1/contacts", wrong)],
    ["insufficient_scope", service.request("POST", "/v1/contacts", { key: weak, ...wrong })],
    ["unsupported_media_type", service.request("POST", "/v1/contacts", { key, ...wrong, text: big })],
    ["body_too_large", service.request("POST", "/v1/contacts", { key, text: big })],
    ["invalid_json", service.request("POST", "/v1/contacts", { key, text: "{" })],
    ["missing_idempotency_key", service.request("POST", "/v1/contacts", { key, text: "{\"foo\":1}" })],
    ["invalid_input", service.request("POST", "/v1/contacts", { key, text: "{\"foo\":1}", ...idempotency() })]
  ]
  for (const [expected, response] of steps) assert.strictEqual(code(await response), expected)
})
