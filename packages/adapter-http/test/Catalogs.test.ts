/** `/channels`, `/members`, `/contact-fields`, `/tags`, `/templates`: complete lists, each of its organization alone. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { MockProvider } from "@messaging-crm/provider-mock"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

it("lists the channels, with the business account where there is one", async () => {
  const { channel, key, social } = await service.organization()
  const { body, status } = await service.request("GET", "/v1/channels", { key })
  assert.strictEqual(status, 200)
  assert.isNull(body.next_cursor)
  assert.deepStrictEqual(
    body.data.map((row: { readonly id: string }) => row.id).toSorted(),
    [channel.id, social.id].toSorted()
  )
  const found = body.data.find((row: { readonly id: string }) => row.id === social.id)
  assert.deepStrictEqual(found, {
    id: social.id,
    type: "photo_social",
    name: "Photos",
    address: "@acme",
    phone_messaging_business_account_id: null,
    connected_at: found.connected_at
  })
  assert.match(found.connected_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

it("lists the members", async () => {
  const { key, owner } = await service.organization()
  const { body } = await service.request("GET", "/v1/members", { key })
  const [member] = body.data
  assert.deepStrictEqual<object>(body, {
    data: [{ id: owner.id, name: "Ada", email: "ada@acme.example", role: "owner", created_at: member.created_at }],
    next_cursor: null
  })
})

it("lists the contact fields", async () => {
  const { key } = await service.organization()
  assert.deepStrictEqual<object>((await service.request("GET", "/v1/contact-fields", { key })).body, {
    data: [],
    next_cursor: null
  })
})

it("creates tags, trims their names, and lists them by name", async () => {
  const { key } = await service.organization()
  const create = (json: unknown) => service.request("POST", "/v1/tags", { key, json })
  const beta = await create({ name: "  Beta ", color: "pink" })
  assert.strictEqual(beta.status, 200)
  assert.deepStrictEqual(beta.body.data, { id: beta.body.data.id, name: "Beta", color: "pink" })
  const alpha = await create({ name: "alpha", color: "gray" })
  const { body } = await service.request("GET", "/v1/tags", { key })
  assert.deepStrictEqual<object>(body, { data: [alpha.body.data, beta.body.data], next_cursor: null })
})

it("rejects a tag with an invalid name or color, and one whose name is taken in any case", async () => {
  const { key } = await service.organization()
  const other = await service.organization()
  const create = (json: unknown, as = key) => service.request("POST", "/v1/tags", { key: as, json })
  for (
    const [json, param] of [
      [{ name: "x" }, "color"],
      [{ color: "red" }, "name"],
      [{ name: "x", color: "crimson" }, "color"],
      [{ name: "", color: "red" }, "name"],
      [{ name: "   ", color: "red" }, "name"],
      [{ name: "x".repeat(41), color: "red" }, "name"],
      [{ name: null, color: "red" }, "name"]
    ] as const
  ) {
    const response = await create(json)
    assert.strictEqual(response.status, 400, JSON.stringify(json))
    assert.strictEqual(response.body.error.param, param, JSON.stringify(json))
  }
  // 40 characters are 40 code points, however many units they take.
  assert.strictEqual((await create({ name: "😀".repeat(40), color: "red" })).status, 200)
  assert.strictEqual((await create({ name: "Straße", color: "red" })).status, 200)
  const taken = await create({ name: "STRASSE", color: "blue" })
  assert.strictEqual(taken.status, 409)
  assert.strictEqual(taken.body.error.code, "conflict")
  assert.strictEqual(taken.body.error.param, "name")
  assert.strictEqual((await create({ name: "Straße", color: "red" }, other.key)).status, 200)
})

it("rejects a tag beyond the organization's limit, and states the limit", async () => {
  const { key, organization } = await service.organization()
  await service.runtime.runPromise(
    Fixtures.tags(organization.id, limits.tags_max).pipe(Effect.provide(Ids.layer))
  )
  const response = await service.request("POST", "/v1/tags", { key, json: { name: "one more", color: "red" } })
  assert.strictEqual(response.status, 409)
  assert.deepInclude(response.body.error, { code: "conflict", param: null })
  assert.include(response.body.error.message, "1000 tags")
  const taken = await service.request("POST", "/v1/tags", { key, json: { name: "TAG 7", color: "red" } })
  assert.strictEqual(taken.body.error.param, "name")
})

it("lists the templates live, and 503 while the provider is down", async () => {
  const { channel, key } = await service.organization()
  const late = await service.organization()
  const list = (as = key) => service.request("GET", "/v1/templates", { key: as })
  const setDown = (down: boolean) => service.runtime.runPromise(MockProvider.use((mock) => mock.setDown(down)))
  const live = await list()
  assert.strictEqual(live.status, 200)
  const [first] = live.body.data
  assert.strictEqual(first.phone_messaging_business_account_id, channel.phone_messaging_business_account_id)
  assert.hasAllKeys(first, [
    "id",
    "name",
    "language",
    "category",
    "status",
    "phone_messaging_business_account_id",
    "parameter_format",
    "components"
  ])
  await setDown(true)
  for (const as of [key, late.key]) {
    const without = await list(as)
    assert.strictEqual(without.status, 503)
    assert.strictEqual(without.body.error.code, "provider_unavailable")
    assert.match(without.headers.get("retry-after") ?? "", /^[0-9]+$/)
  }
  const send = await service.request("POST", "/v1/conversations", {
    key: late.key,
    json: { channel_id: late.channel.id, phone: "+4915112345678", template: { id: "x", components: [] } },
    ...idempotency()
  })
  assert.strictEqual(send.status, 503)
  await setDown(false)
  assert.strictEqual((await list()).text, live.text)
})
