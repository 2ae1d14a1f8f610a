import { assert, it } from "@effect/vitest"
import { numbered, parts, type Request } from "../src/load/Workloads.ts"

it("a number makes each repetition of a write its own request", () => {
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: crm.example\r\nAuthorization: Bearer key\r\n`
  const json = (length: number) => `Content-Type: application/json\r\nContent-Length: ${length}\r\n`
  const cases: ReadonlyArray<readonly [Request, string]> = [
    [{ method: "GET", path: "/tags", key: "key" }, `${head("GET /v1/tags")}\r\n`],
    [
      { method: "PATCH", path: "/contacts/1", key: "key", body: [`{"city":"`, `"}`] },
      `${head("PATCH /v1/contacts/1")}${json(19)}Idempotency-Key: run-00000007\r\n\r\n{"city":"00000007"}`
    ],
    [
      { method: "POST", path: "/tags", key: "key", body: [`{"name":"ü`, `"}`] },
      `${head("POST /v1/tags")}${json(21)}Idempotency-Key: run-00000007\r\n\r\n{"name":"ü00000007"}`
    ]
  ]
  for (const [request, text] of cases) {
    assert.strictEqual(parts(request, "crm.example", "run").join(numbered(7)), text)
  }
})
