/** The rules of the contract that a client can observe on a connection: the whole service, called over raw sockets. */
import { afterAll, describe, it } from "vitest"
import { type Row, startService } from "./ContractScene.ts"
import { host, request, uuid } from "./RawHttp.ts"

const [one, cells] = await Promise.all([startService("one"), startService("cells")])
afterAll(() => Promise.all([one.stop(), cells.stop()]))

const table = (section: string, rows: ReadonlyArray<Row>) =>
  describe(section, () => {
    for (const row of rows) it(row.rule, () => one.check(row))
    for (const row of rows) it(`with three cells: ${row.rule}`, () => cells.check(row))
  })

const full = "Authorization: Bearer FULL"
const weak = "Authorization: Bearer WEAK"
const spent = "Authorization: Bearer SPENT"
const json = "Content-Type: application/json"
const id = "01990000-0000-7000-8000-000000000000"

/** A request with these headers and no body. */
const call = (method: string, target: string, ...headers: ReadonlyArray<string>) =>
  request(`${method} ${target} HTTP/1.1`, host, ...headers)

const get = (target: string, ...headers: ReadonlyArray<string>) => call("GET", target, ...headers)

/** A request with a body, which is declared. */
const withBody = (method: string, target: string, body: string, ...headers: ReadonlyArray<string>) =>
  call(method, target, `Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body

const post = (target: string, body: string, ...headers: ReadonlyArray<string>) =>
  withBody("POST", target, body, ...headers)

/** A value of `Idempotency-Key` that no other row uses. */
const fresh = () => `Idempotency-Key: ${globalThis.crypto.randomUUID()}`

const accepted = { status: 200, counted: true, end: "kept" } as const
const open = { status: 200, counted: false, end: "kept" } as const
const notFound = { status: 404, code: "not_found", counted: false, end: "kept" } as const
const notAllowed = { status: 405, code: "method_not_allowed", counted: false, end: "kept" } as const
const unauthorized = { status: 401, code: "unauthorized", counted: false, end: "kept" } as const
const forbidden = { status: 403, code: "insufficient_scope", counted: true, end: "kept" } as const
const wrongType = { status: 415, code: "unsupported_media_type", counted: true, end: "kept" } as const
const tooLong = { status: 413, code: "body_too_large", counted: true, end: "closed" } as const
const invalidJson = { status: 400, code: "invalid_json", counted: true, end: "kept" } as const
const invalidInput = { status: 400, code: "invalid_input", counted: true, end: "kept" } as const
const invalidHead = { status: 400, code: "invalid_input", counted: false, end: "closed" } as const
const unexpected = {
  status: 417,
  code: "expectation_failed",
  param: "Expect",
  counted: false,
  end: "closed"
} as const
const headersTooLarge = { status: 431, code: "headers_too_large", counted: false, end: "closed" } as const

/** Every method that a path of the API can have. */
const methods = "GET, HEAD, POST, PATCH, DELETE"
const unknownMethod = { ...notAllowed, end: "closed", headers: { allow: methods } } as const

table("§2.1 methods and paths", [
  ...[
    "/v1/Tags",
    "/V1/tags",
    "/v1/tags/",
    "/v1/%74ags",
    `/v1/contacts/%30${id.slice(1)}`,
    `/v1/contacts/${id}/`,
    "/v1/tags;x=1",
    `/v1/contacts/${id};x=1`,
    "//v1/tags",
    "/v1/../v1/tags",
    "/v1/./tags",
    "/v1/openapi.json/",
    "/v1/OpenAPI.json",
    "/v1"
  ].map((path) => ({
    rule: `an unknown path, although the key is valid: ${path}`,
    send: get(path, full),
    ...notFound
  })),
  ...["DELETE", "PUT", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "QUERY"].map((method) => ({
    rule: `another method gets the path's methods: ${method}`,
    send: call(method, "/v1/tags", full),
    ...notAllowed,
    headers: { allow: "GET, POST, HEAD" }
  })),
  {
    rule: "another method of the document",
    send: post("/v1/openapi.json", ""),
    ...notAllowed,
    headers: { allow: "GET, HEAD" }
  },
  {
    rule: "another method of a file",
    send: call("DELETE", "/media/x"),
    ...notAllowed,
    headers: { allow: "GET, HEAD" }
  },
  { rule: "another method of /health/live", send: post("/health/live", ""), ...notFound },
  { rule: "another method of /docs", send: call("OPTIONS", "/docs"), ...notFound },
  { rule: "OPTIONS of the whole server", send: call("OPTIONS", "*"), ...notFound },
  ...[
    call("FOO", "/v1/tags", full),
    call("get", "/v1/tags", full),
    call("Get", "/v1/tags", full),
    call("GETT", "/v1/tags", full),
    call("GET_TAGS", "/v1/tags", full),
    call("SETUP", "/v1/tags", full),
    call("FOO", "/nothing"),
    post("/v1/tags", "{}", full, json).replace("POST", "PASTE"),
    request("FOO /v1/tags HTTP/1.0"),
    // Its rest has not arrived.
    "FO"
  ].map((text) => ({
    rule: `an unknown method: ${text.split("\r\n")[0]}`,
    send: text,
    ...unknownMethod
  })),
  { rule: "CONNECT", send: call("CONNECT", "crm.example:443"), ...unknownMethod },
  ...["hello\r\n\r\n", "GET\t/v1/tags HTTP/1.1\r\n\r\n", "GET /v1/tags HTPP/1.1\r\n\r\n", "\u0016\u0003\u0001\r\n"].map(
    (text) => ({ rule: `no request line: ${JSON.stringify(text)}`, send: text, ...invalidHead })
  ),
  { rule: "HEAD as GET, without the body", send: call("HEAD", "/v1/tags", full), ...accepted },
  { rule: "HEAD of an unknown path", send: call("HEAD", "/v1/nothing"), ...notFound },
  {
    rule: "HEAD of a path without GET",
    send: call("HEAD", "/v1/contacts/upsert", full),
    ...notAllowed,
    headers: { allow: "POST" }
  },
  { rule: "HEAD without a key", send: call("HEAD", "/v1/tags"), ...unauthorized },
  {
    rule: "Connection: Upgrade is ignored",
    send: get("/v1/tags", full, "Connection: Upgrade", "Upgrade: h2c"),
    ...accepted
  },
  { rule: "no Host", send: request("GET /v1/tags HTTP/1.1", full), ...invalidHead, param: "Host" },
  {
    rule: "an absolute target of the host, with a port",
    send: request("GET http://crm.example:80/v1/tags HTTP/1.1", "Host: crm.example:80", full),
    ...accepted
  },
  { rule: "an absolute target of another host", send: get("http://other.example/v1/tags", full), ...invalidHead },
  { rule: "a target with a fragment", send: get("/v1/tags#x", full), ...invalidHead },
  {
    rule: "chunked as Transfer-Encoding",
    send: call("POST", "/v1/tags", full, json, "Transfer-Encoding: chunked") +
      "20\r\n{\"name\":\"chunked\",\"color\":\"red\"}\r\n0\r\n\r\n",
    ...accepted
  },
  {
    rule: "another Transfer-Encoding",
    send: call("POST", "/v1/tags", full, "Transfer-Encoding: gzip"),
    ...invalidHead,
    param: "Transfer-Encoding"
  },
  {
    rule: "Transfer-Encoding and Content-Length",
    send: call("POST", "/v1/tags", full, "Transfer-Encoding: chunked", "Content-Length: 0"),
    ...invalidHead,
    param: "Content-Length"
  },
  {
    rule: "a pipelined request is not run",
    send: get("/v1/tags", full) + get("/v1/tags", full),
    ...accepted,
    end: "closed"
  },
  { rule: "Origin gets no CORS headers", send: get("/v1/tags", full, "Origin: https://a.example"), ...accepted },
  {
    rule: "the document ignores a query",
    send: get("/v1/openapi.json?x=1&x=%zz"),
    ...open,
    headers: { "cache-control": "no-cache", etag: /./ }
  },
  {
    rule: "Accept is ignored",
    send: get("/v1/tags", full, "Accept: text/html"),
    ...accepted,
    headers: { "content-type": "application/json" }
  },
  { rule: "HTTP/1.0 needs no Host", send: request("GET /v1/tags HTTP/1.0", full), ...accepted, end: "closed" }
])

const longest = "aZ0._-".repeat(21) + "aZ"

table("§2.4 request headers", [
  { rule: "the scheme is not case-sensitive", send: get("/v1/tags", "Authorization: bEARER FULL"), ...accepted },
  { rule: "another scheme", send: get("/v1/tags", "Authorization: Basic FULL"), ...unauthorized },
  { rule: "Idempotency-Key is ignored on GET", send: get("/v1/tags", full, "Idempotency-Key: x"), ...accepted },
  {
    rule: "X-Request-Id of 128 characters is kept",
    send: get("/v1/tags", full, `X-Request-Id: ${longest}`),
    ...accepted,
    headers: { "x-request-id": longest }
  },
  ...["", `${longest}a`, "a b", "é", "a, b"].map((value) => ({
    rule: `a new UUID replaces another X-Request-Id: ${JSON.stringify(value.slice(0, 5))}`,
    send: get("/v1/tags", full, `X-Request-Id: ${value}`),
    ...accepted,
    headers: { "x-request-id": uuid }
  })),
  ...[
    { send: request("GET /v1/tags HTTP/1.1", "X-Request-Id: mine-1"), ...invalidHead, param: "Host" },
    { send: call("POST", "/v1/tags", "Expect: x", "X-Request-Id: mine-1"), ...unexpected },
    { send: call("CONNECT", "crm.example:443", "X-Request-Id: mine-1"), ...unknownMethod }
  ].map((row) => ({
    ...row,
    rule: `an error of step 1 keeps the given X-Request-Id: ${row.status}`,
    headers: { ..."headers" in row ? row.headers : {}, "x-request-id": "mine-1" }
  })),
  { rule: "an invalid traceparent is ignored", send: get("/v1/tags", full, "traceparent: zz"), ...accepted },
  ...["Authorization", "Content-Length", "Content-Type", "Host", "Idempotency-Key"].map((name) => ({
    rule: `must not be repeated: ${name}`,
    send: request("POST /v1/tags HTTP/1.1", ...name === "Host" ? [] : [host], `${name}: 0`, `${name}: 0`),
    ...invalidHead,
    param: name
  })),
  {
    rule: "must not be repeated: Transfer-Encoding",
    send: call("POST", "/v1/tags", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    ...invalidHead,
    param: "Transfer-Encoding"
  },
  {
    rule: "other headers can be repeated",
    send: get(
      "/v1/tags",
      full,
      "Accept: a/b",
      "Accept: c/d",
      "Cookie: a",
      "Cookie: b",
      "User-Agent: a",
      "User-Agent: b"
    ),
    ...accepted
  }
])

const contact = (body: string, ...headers: ReadonlyArray<string>) => post("/v1/contacts", body, full, ...headers)
const repeatedName = "{\"first_name\":\"a\",\"first_name\":\"b\"}"
const continued = "{\"name\":\"continued\",\"color\":\"red\"}"
const usedKey = "Idempotency-Key: used-by-another-request"
const created = { status: 201, counted: true, end: "kept" } as const

for (const { check } of [one, cells]) {
  await check({ rule: "uses a key", send: contact("{\"first_name\":\"Ada\"}", json, usedKey), ...created })
}

table("§2.5 order of checks", [
  {
    rule: "1 before 2: a repeated Host at an unknown path",
    send: request("GET /nothing HTTP/1.1", host, host),
    ...invalidHead,
    param: "Host"
  },
  {
    rule: "1: a repeated header before another Expect",
    send: call("POST", "/v1/tags", host, "Expect: x"),
    ...invalidHead,
    param: "Host"
  },
  { rule: "1: another Expect", send: call("POST", "/v1/tags", full, "Expect: x", "Content-Length: 0"), ...unexpected },
  { rule: "2 before 3: another method at an unknown path", send: call("OPTIONS", "/v1/x"), ...notFound },
  { rule: "2 before 4: an unknown path without a key", send: get("/v1/x"), ...notFound },
  { rule: "2 before 5: an unknown path with a spent key", send: get("/v1/x", spent), ...notFound },
  { rule: "3 before 4: another method without a key", send: call("PUT", "/v1/tags"), ...notAllowed },
  { rule: "3 before 5: another method with a spent key", send: call("PUT", "/v1/tags", spent), ...notAllowed },
  {
    rule: "4 before 7: no key, and another media type",
    send: post("/v1/contacts", "{", "Content-Type: text/plain"),
    ...unauthorized
  },
  { rule: "4 before 13: no key, and an unknown parameter", send: get("/v1/tags?x=1"), ...unauthorized },
  {
    rule: "5 before 6: a spent key without the scope",
    send: get("/v1/contacts", spent),
    status: 429,
    code: "rate_limited",
    counted: true,
    end: "kept"
  },
  {
    rule: "6 before 7: no scope, and another media type",
    send: post("/v1/contacts", "{", weak, "Content-Type: text/plain"),
    ...forbidden
  },
  { rule: "6 before 13: no scope, and an unknown parameter", send: get("/v1/contacts?x=1", weak), ...forbidden },
  {
    rule: "7 before 8: another media type, and too many bytes",
    send: call("POST", "/v1/contacts", full, "Content-Type: text/plain", "Content-Length: 65537"),
    ...wrongType,
    end: "closed"
  },
  { rule: "8 before 9: too many bytes that are not JSON", send: contact(" ".repeat(65_537), json), ...tooLong },
  {
    rule: "8 before 9: too many bytes, of which the end has not arrived",
    send: call("POST", "/v1/tags", full, json, "Transfer-Encoding: chunked") + `10001\r\n${" ".repeat(65_537)}\r\n`,
    ...tooLong
  },
  { rule: "9 before 10: no JSON, and no Idempotency-Key", send: contact("{", json), ...invalidJson },
  { rule: "9 before 10: no body, and no Idempotency-Key", send: contact(""), ...invalidJson },
  {
    rule: "10 before 11: no Idempotency-Key, and a repeated key",
    send: contact(repeatedName, json),
    status: 400,
    code: "missing_idempotency_key",
    param: "Idempotency-Key",
    counted: true,
    end: "kept"
  },
  {
    rule: "11 before 12: a repeated key, and a used Idempotency-Key",
    send: contact(repeatedName, json, usedKey),
    ...invalidInput,
    param: "first_name"
  },
  {
    rule: "12 before 13: a used Idempotency-Key, and an unknown field",
    send: contact("{\"x\":1}", json, usedKey),
    status: 409,
    code: "idempotency_conflict",
    param: "Idempotency-Key",
    counted: true,
    end: "kept"
  },
  {
    rule: "13 before 15: an unknown field, and an unknown owner",
    send: contact(`{"x":1,"owner_user_id":"${id}"}`, json, fresh()),
    ...invalidInput,
    param: "x"
  },
  {
    rule: "13 before 15: an unknown parameter, and an unknown owner",
    send: post("/v1/contacts?x=1", `{"first_name":"a","owner_user_id":"${id}"}`, full, json, fresh()),
    ...invalidInput,
    param: "x"
  },
  {
    rule: "13 before 16: an unknown parameter, and an unknown resource",
    send: get(`/v1/contacts/${id}?x=1`, full),
    ...invalidInput,
    param: "x"
  },
  {
    rule: "13 before 16: a field for an operation without a body, and an unknown resource",
    send: withBody("DELETE", `/v1/webhooks/${id}`, "{\"x\":1}", full, json, fresh()),
    ...invalidInput,
    param: "x"
  },
  {
    rule: "15 before 16: an unknown owner, and an unknown resource",
    send: withBody("PATCH", `/v1/contacts/${id}`, `{"owner_user_id":"${id}"}`, full, json, fresh()),
    ...invalidInput,
    param: "owner_user_id"
  },
  { rule: "16: an unknown resource", send: get(`/v1/contacts/${id}`, full), ...notFound, counted: true },
  {
    rule: "16: an unknown resource, and `{}` for an operation without a body",
    send: withBody("DELETE", `/v1/webhooks/${id}`, "{}", full, json, fresh()),
    ...notFound,
    counted: true
  },
  {
    rule: "16 before the checks of a template: an unknown conversation",
    send: post(
      `/v1/conversations/${id}/messages`,
      "{\"type\":\"template\",\"template\":{\"id\":\"x\",\"components\":[]}}",
      full,
      json,
      fresh()
    ),
    ...notFound,
    counted: true
  },
  ...["GET", "HEAD"].map((method) => ({
    rule: `${method} skips 7 to 12`,
    send: withBody(method, "/v1/tags", "{", full, "Content-Type: text/plain", "Content-Encoding: gzip", usedKey),
    ...accepted
  })),
  {
    rule: "GET skips 8, and its body that has not arrived ends the connection",
    send: get("/v1/tags", full, "Content-Length: 65537"),
    ...accepted,
    end: "closed"
  },
  {
    rule: "100-continue gets 100 before the body",
    send: [
      call("POST", "/v1/tags", full, json, `Content-Length: ${continued.length}`, "Expect: 100-continue"),
      continued
    ],
    ...accepted,
    continued: true
  },
  {
    rule: "100-continue before a failing check gets no 100",
    send: call("POST", "/v1/tags", json, "Content-Length: 33", "Expect: 100-continue"),
    ...unauthorized,
    end: "closed"
  }
])

/** A request whose line and headers have so many bytes. */
const ofSize = (bytes: number, filled: (filler: string) => string) =>
  filled("x".repeat(bytes - Buffer.byteLength(filled(""))))

const headers = (count: number) => Array.from({ length: count - 1 }, (_, index) => `x-${index}: 1`)

table("§2.6 limits of the connection", [
  { rule: "16,384 bytes", send: ofSize(16_384, (filler) => get("/health/live", `X: ${filler}`)), ...open },
  { rule: "16,384 bytes with an ID", send: ofSize(16_384, (filler) => get(`/v1/contacts/${filler}`)), ...unauthorized },
  { rule: "16,385 bytes", send: ofSize(16_385, (filler) => get("/v1/tags", `X: ${filler}`)), ...headersTooLarge },
  {
    rule: "16,385 bytes with a query",
    send: ofSize(16_385, (filler) => get(`/v1/contacts?query=${filler}`)),
    ...headersTooLarge
  },
  { rule: "100 headers", send: get("/health/live", ...headers(100)), ...open },
  { rule: "101 headers", send: get("/health/live", ...headers(101)), ...headersTooLarge }
])

const document = { ...open, headers: { "cache-control": "no-cache", etag: /./ } } as const

table("§3.2 response headers", [
  { rule: "a success", send: get("/v1/tags", full), ...accepted, headers: { "x-request-id": uuid } },
  { rule: "an unknown path", send: get("/nothing"), ...notFound, headers: { "x-request-id": uuid } },
  { rule: "/health/live", send: get("/health/live"), ...open, headers: { "x-request-id": uuid } },
  { rule: "/health/ready", send: get("/health/ready"), status: 503, counted: false, end: "kept" },
  { rule: "/metrics", send: get("/metrics"), ...open, headers: { "x-request-id": uuid } },
  { rule: "/docs", send: get("/docs"), ...document },
  { rule: "If-None-Match with another version", send: get("/v1/openapi.json", "If-None-Match: W/\"x\""), ...document },
  {
    rule: "If-None-Match with any version",
    send: get("/v1/openapi.json", "If-None-Match: *"),
    ...document,
    status: 304
  },
  {
    rule: "`/` leads to the documentation",
    send: get("/"),
    status: 302,
    counted: false,
    end: "kept",
    headers: { location: "/docs" }
  },
  {
    rule: "a replay",
    send: contact("{\"first_name\":\"Ada\"}", json, usedKey),
    ...created,
    headers: { "idempotent-replayed": "true", "original-request-id": uuid }
  },
  {
    rule: "a write that is no replay",
    send: contact("{\"first_name\":\"Ada\"}", json, fresh()),
    ...created,
    headers: { "idempotent-replayed": null, "original-request-id": null }
  }
])
