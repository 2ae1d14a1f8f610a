/** A deprecated operation announces it in its responses and in the OpenAPI document. */
import { assert, it } from "@effect/vitest"
import { type Deprecation, rulesOf } from "@messaging-crm/core/Operations"
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { afterAll } from "vitest"
import { Api } from "../src/api/Api.ts"
import { start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

/** Calls a function while the operation `tags.list` is deprecated. */
const whileDeprecated = async <A>(deprecation: Deprecation, call: () => Promise<A>): Promise<A> => {
  const rules = rulesOf("tags.list")
  Object.assign(rules, { deprecation })
  try {
    return await call()
  } finally {
    Reflect.deleteProperty(rules, "deprecation")
  }
}

const readTags = async (key: string) => {
  // Not through `request`, which compares the response with a document in which nothing is deprecated.
  const { headers, status } = await service.fetch("http://localhost/v1/tags", {
    headers: { authorization: `Bearer ${key}` }
  })
  return [status, headers.get("deprecation"), headers.get("sunset")]
}

interface Operation {
  readonly deprecated?: boolean
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>
}

const documented = (): Operation => {
  // Of a copy, because Effect generates the document of an API once. The type of the document lacks `deprecated`.
  const { paths } = OpenApi.fromApi(Api.annotateMerge(Context.empty())) as unknown as {
    readonly paths: Readonly<Record<string, Record<string, Operation>>>
  }
  const operation = paths["/tags"]?.["get"]
  assert.isDefined(operation)
  return operation as Operation
}

it("each response has the dates, also one that rejects the key", async () => {
  const { key } = await service.organization()
  const deprecation = { since: "2027-01-01", sunset: "2028-01-01" }
  await whileDeprecated(deprecation, async () => {
    const headers = ["@1798761600", "Sat, 01 Jan 2028 00:00:00 GMT"]
    assert.deepStrictEqual(await readTags(key), [200, ...headers])
    assert.deepStrictEqual(await readTags("svc_live_unknown"), [401, ...headers])
  })
  await whileDeprecated({ ...deprecation, sunset: null }, async () => {
    assert.deepStrictEqual(await readTags(key), [200, "@1798761600", null])
  })
  assert.deepStrictEqual(await readTags(key), [200, null, null])
})

it("the document marks it, with the headers", async () => {
  await whileDeprecated({ since: "2027-01-01", sunset: null }, async () => {
    const { deprecated, responses } = documented()
    assert.isTrue(deprecated)
    assert.containsAllKeys(responses["200"]?.headers, ["Deprecation", "Sunset", "X-Request-Id"])
  })
  const { deprecated, responses } = documented()
  assert.isUndefined(deprecated)
  assert.doesNotHaveAnyKeys(responses["200"]?.headers, ["Deprecation", "Sunset"])
})
