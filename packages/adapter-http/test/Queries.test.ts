/** How the parameters of a query may be written. */
import { assert, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

it("a query must be percent-encoded UTF-8", async () => {
  const { key } = await service.organization()
  for (const value of ["M%FCller", "%zz", "%", "%ED%A0%80", "a%"]) {
    const searches = [[`query=${value}`, "query"], [`page_size=5&external_id=${value}`, "external_id"]] as const
    for (const [search, param] of searches) {
      const { body, status } = await service.request("GET", `/v1/contacts?${search}`, { key })
      assert.strictEqual(status, 400, search)
      assert.deepInclude(body.error, { code: "invalid_input", param })
    }
  }
  const { status } = await service.request("GET", "/v1/contacts?query=M%C3%BCller+%2B1&%63hannel=photo_social", {
    key
  })
  assert.strictEqual(status, 200)
})

it("a page size has no leading zero", async () => {
  const { key } = await service.organization()
  for (const size of ["05", "001", "0", "00", "101", "1e1", "+5"]) {
    const { body, status } = await service.request("GET", `/v1/contacts?page_size=${size}`, { key })
    assert.deepStrictEqual([status, body.error?.param], [400, "page_size"], size)
  }
})
