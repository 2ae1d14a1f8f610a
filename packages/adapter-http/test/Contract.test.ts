/** The contract as a whole: every operation has one scope, and the document says what the routes do. */
import { assert, describe, it } from "@effect/vitest"
import * as Http from "@messaging-crm/adapter-http"
import { Scope } from "@messaging-crm/core/ApiKeys"
import { operations as table } from "@messaging-crm/core/Operations"
import { readFileSync } from "node:fs"
import { afterAll } from "vitest"
import { document, resolve, type Response } from "../testing/Document.ts"
import { bodyFor, operations } from "../testing/Operations.ts"
import { idempotency, start } from "../testing/Service.ts"

const unknown = "0199abcd-0000-7000-8000-00000000000f"
const concrete = (path: string) => path.replace(/:\w+/g, unknown)

const service = start()
afterAll(() => service.stop())

describe("every operation", () => {
  it("that an API key may run has one endpoint", () => {
    const keyed = Object.entries(table).flatMap(([name, { scope }]) => scope === null ? [] : [name])
    assert.deepStrictEqual(operations.map(({ name }) => name).toSorted(), keyed.toSorted())
  })

  it("has one scope, and an idempotency policy exactly when it writes", () => {
    for (const { method, path, policy, scope } of operations) {
      assert.isNotNull(scope, `${method} ${path}`)
      assert.strictEqual(policy !== null, method !== "GET", `${method} ${path}`)
    }
  })

  it("returns 403 for a key with every other scope, and not for one with its own", async () => {
    const { organization, owner } = await service.organization()
    const actor = { organization_id: organization.id, member_id: owner.id }
    for (const { method, path, scope } of operations) {
      const others = await service.keyWith(actor, Scope.literals.filter((each) => each !== scope))
      const own = await service.keyWith(actor, [scope])
      const rejected = await service.request(method, concrete(path), { key: others })
      assert.strictEqual(rejected.status, 403, `${method} ${path}`)
      assert.strictEqual(rejected.body.error.code, "insufficient_scope")
      assert.include(rejected.body.error.message, scope)
      assert.notStrictEqual(
        (await service.request(method, concrete(path), { key: own })).status,
        403,
        `${method} ${path}`
      )
    }
  })

  it("documents the exact message for an unknown ID", async () => {
    const { key } = await service.organization()
    // Of two unknown IDs the response may name the first; the example names the last.
    const named = operations.filter(({ path }) => path.includes(":") && !path.includes(":delivery_id"))
    for (const { method, path } of named) {
      const response = await service.request(method, concrete(path), {
        key,
        ...(method === "GET" ? {} : { ...bodyFor({ method, path }), ...idempotency() })
      })
      const documented = document.paths[path.replace("/v1", "").replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]
      const example = resolve<Response>(documented?.responses["404"]).content["application/json"]?.examples["not_found"]
      assert.strictEqual(response.status, 404, `${method} ${path}`)
      assert.deepNestedInclude(example, { "value.error.message": response.body.error.message })
    }
  })

  it("checks a required idempotency key before the body's fields and the resource", async () => {
    const { key } = await service.organization()
    for (const { method, path, policy } of operations.filter(({ method }) => method !== "GET")) {
      const response = await service.request(method, concrete(path), { key, json: { no_such_field: 1 } })
      const isRequired = policy === "required"
      assert.strictEqual(response.body.error.code === "missing_idempotency_key", isRequired, `${method} ${path}`)
      if (isRequired) assert.strictEqual(response.body.error.param, "Idempotency-Key")
    }
  })

  it("rejects an unknown field", async () => {
    const { key } = await service.organization()
    for (const { method, path } of operations.filter(({ method }) => method !== "GET")) {
      const json = { ...bodyFor({ method, path }).json as object, no_such_field: 1 }
      const response = await service.request(method, concrete(path), { key, json, ...idempotency() })
      assert.strictEqual(response.status, 400, `${method} ${path}`)
      assert.strictEqual(response.body.error.code, "invalid_input")
      assert.strictEqual(response.body.error.param, "no_such_field", `${method} ${path}`)
    }
  })

  it("rejects an unknown query parameter", async () => {
    const { key } = await service.organization()
    for (const { method, path } of operations) {
      const options = { key, ...(method === "GET" ? {} : { json: {}, ...bodyFor({ method, path }), ...idempotency() }) }
      const response = await service.request(method, `${concrete(path)}?no_such=1`, options)
      assert.strictEqual(response.status, 400, `${method} ${path}`)
      assert.strictEqual(response.body.error.param, "no_such", `${method} ${path}`)
    }
  })

  it("returns 400 with the parameter for a malformed ID, and 404 for an unknown one", async () => {
    const { key } = await service.organization()
    for (const { method, path } of operations.filter(({ path }) => path.includes(":"))) {
      const names = Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => name)
      const [name = ""] = names
      const options = {
        key,
        ...(method === "GET" ? {} : { ...bodyFor({ method, path }), ...idempotency() })
      }
      const malformed = await service.request(method, concrete(path).replace(unknown, "x".repeat(300)), options)
      assert.strictEqual(malformed.status, 400, `${method} ${path}`)
      assert.strictEqual(malformed.body.error.param, name)
      const absent = await service.request(method, concrete(path).replaceAll(unknown, unknown.toUpperCase()), options)
      assert.strictEqual(absent.status, 404, `${method} ${path}`)
      assert.strictEqual(absent.body.error.code, "not_found")
    }
  })
})

describe("the OpenAPI document", () => {
  it("is served without a key, and is the one that is committed", async () => {
    const served = await service.request("GET", "/v1/openapi.json")
    assert.strictEqual(served.status, 200)
    assert.match(JSON.parse(served.text).openapi, /^3\.1\./)
    const committed = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8"))
    assert.deepStrictEqual(served.body, committed)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(Http.openApi())), committed)
  })

  it("lists each operation's scope, idempotency key, and only its possible errors", () => {
    const { paths } = JSON.parse(JSON.stringify(Http.openApi()))
    for (const { method, path, policy, scope } of operations) {
      const operation = paths[path.slice("/v1".length).replace(/:(\w+)/g, "{$1}")][method.toLowerCase()]
      const key = operation.parameters.find(({ name }: { readonly name: string }) => name === "Idempotency-Key")
      assert.strictEqual(operation["x-required-scope"], scope)
      assert.strictEqual(key?.required, policy === null ? undefined : policy === "required")
      assert.includeMembers(Object.keys(operation.responses), ["400", "401", "403", "429", "500"])
      for (const status of ["409", "413", "415"]) {
        assert.strictEqual(status in operation.responses, method !== "GET", `${method} ${path} ${status}`)
      }
      assert.strictEqual("404" in operation.responses, path.includes(":"), `${method} ${path}`)
    }
    assert.isFalse(paths["/conversations/{conversation_id}/close"].post.requestBody.required)
  })
})
