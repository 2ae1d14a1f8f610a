/** Links from errors to their documentation. */
import { assert, describe, it } from "@effect/vitest"
import { Layer } from "effect"
import { ErrorHelp } from "../src/middleware/RequestLifecycle.ts"
import { idempotency, start } from "../testing/Service.ts"

describe("an error links to the description of its code", () => {
  it("if the guides are published", async () => {
    const service = start({ instead: Layer.succeed(ErrorHelp, "https://docs.example/crm/contract.html#error-") })
    const { key } = await service.organization()
    const wrong = { key, json: { name: "" }, ...idempotency("wrong-tag") }
    const repeated = { key, json: { first_name: "Kim" }, ...idempotency("unknown-contact") }
    const unknown = "/v1/contacts/019aa0c2-5b00-7000-8000-00000000000b"
    for (
      const [method, path, options, code] of [
        ["GET", "/v1/tags", {}, "unauthorized"],
        ["GET", "/elsewhere", { key }, "not_found"],
        ["DELETE", "/v1/tags", { key }, "method_not_allowed"],
        ["POST", "/v1/tags", wrong, "invalid_input"],
        ["PATCH", unknown, repeated, "not_found"],
        ["PATCH", unknown, repeated, "not_found"]
      ] as const
    ) {
      const { body, headers } = await service.request(method, path, options)
      assert.strictEqual(body.error.code, code)
      assert.strictEqual(headers.get("link"), `<https://docs.example/crm/contract.html#error-${code}>; rel="help"`)
    }
    const { headers, status } = await service.request("GET", "/v1/tags", { key })
    assert.deepStrictEqual([status, headers.get("link")], [200, null])
    await service.stop()
  })

  it("and otherwise to nothing", async () => {
    const service = start()
    const { headers, status } = await service.request("GET", "/v1/tags")
    assert.deepStrictEqual([status, headers.get("link")], [401, null])
    await service.stop()
  })
})
