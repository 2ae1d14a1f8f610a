/** `/webhooks`: create, list, get, update, and rotate the secret. */
import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "@messaging-crm/core/ApiKeys"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { afterAll } from "vitest"
import { idempotency } from "../testing/Service.ts"
import { absent, rejected, startWithWebhooks } from "./WebhookScene.ts"

const { begin, service } = startWithWebhooks()
afterAll(() => service.stop())

const event_types = [
  "message.received",
  "message.sent",
  "message.updated",
  "send.failed",
  "conversation.closed"
]

const all_types = [
  ...event_types,
  "conversation.opened",
  "conversation.assigned",
  "contact.created",
  "contact.updated",
  "webhook.disabled"
]

describe("include_resource", () => {
  it("needs a key that may read contacts and conversations, as long as the webhook has it", async () => {
    const { create, organization, owner, url } = await begin()
    const keyWith = (...scopes: ReadonlyArray<Scope>) =>
      service.keyWith({ organization_id: organization.id, member_id: owner.id }, ["webhooks:manage", ...scopes])
    const reader = await keyWith("contacts:read", "conversations:read")
    const asked = await create({ include_resource: true })
    const plain = await create()
    for (const scopes of [["contacts:read"], ["conversations:read"], []] as const) {
      const key = await keyWith(...scopes)
      const ask = async (method: "PATCH" | "POST", path: string, json: object, by = key) =>
        service.request(method, `/v1/webhooks${path}`, { key: by, json, ...idempotency() })
      const create_body = { url, event_types, include_resource: true }
      rejected(await ask("POST", "", create_body), null, "insufficient_scope", 403)
      rejected(await ask("PATCH", `/${plain.id}`, { include_resource: true }), null, "insufficient_scope", 403)
      rejected(await ask("PATCH", `/${asked.id}`, { url: `${url}/2` }), null, "insufficient_scope", 403)
      rejected(await ask("PATCH", `/${asked.id}`, { event_types }), null, "insufficient_scope", 403)
      assert.strictEqual((await ask("POST", "", { ...create_body, include_resource: false })).status, 200)
      assert.strictEqual((await ask("PATCH", `/${plain.id}`, { url: `${url}/3` })).status, 200)
      assert.strictEqual((await ask("PATCH", `/${asked.id}`, { include_resource: false })).status, 200)
      assert.strictEqual((await ask("PATCH", `/${asked.id}`, { include_resource: true }, reader)).status, 200)
    }
  })
})

describe("create", () => {
  it("returns the webhook with its secret, which no list shows", async () => {
    const { create, get, url } = await begin()
    const created = await create({ event_types })
    const { signing_secret, ...webhook } = created
    assert.match(signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.deepStrictEqual(webhook, {
      id: webhook.id,
      url,
      event_types,
      include_resource: false,
      status: "active",
      created_at: webhook.created_at,
      disabled_at: null
    })
    const listed = await get("/webhooks")
    assert.deepStrictEqual<object>(listed.body, { data: [webhook], next_cursor: null })
    assert.notInclude(listed.text, "whsec_")
  })

  it("needs no key; with one, a retry gets the same webhook and secret, byte for byte", async () => {
    const { get, key, url } = await begin()
    const json = { url, event_types: ["send.failed"] }
    const options = { key, json, ...idempotency("create-webhook-once") }
    const [first, second] = [
      await service.request("POST", "/v1/webhooks", options),
      await service.request("POST", "/v1/webhooks", options)
    ]
    assert.strictEqual(second.text, first.text)
    assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
    assert.strictEqual((await service.request("POST", "/v1/webhooks", { key, json })).status, 200)
    assert.lengthOf((await get("/webhooks")).body.data, 2)
  })

  it("stores and shows a URL as WHATWG URL serializes it", async () => {
    const { create, get } = await begin()
    const created = await create({ url: "https://bücher.example/x" })
    assert.strictEqual(created.url, "https://xn--bcher-kva.example/x")
    assert.strictEqual((await get("/webhooks")).body.data[0].url, created.url)
  })

  it("rejects a URL that is not public or not https, and names the field", async () => {
    const { get, post } = await begin()
    for (
      const url of [
        "http://shop.example/crm",
        "ftp://shop.example/crm",
        "/crm",
        "shop.example",
        "https://ada@shop.example/crm",
        "https://shop.example/crm#top",
        "https://127.0.0.1/crm",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/crm",
        "https://localhost/crm",
        "https://crm.local/",
        "https://crm.internal/",
        "https://crm/",
        `https://shop.example/${"a".repeat(2048)}`,
        "",
        null
      ]
    ) {
      rejected(await post("/webhooks", { url, event_types }), "url")
    }
    assert.lengthOf((await get("/webhooks")).body.data, 0)
  })

  it("accepts one to five different types", async () => {
    const { create, post, url } = await begin()
    for (
      const types of [
        [],
        ["message.sent", "message.sent"],
        ["message.read"],
        ["*"],
        [...event_types, "message.sent"],
        all_types.slice(0, 6),
        "message.sent",
        [null],
        null
      ]
    ) {
      const response = await post("/webhooks", { url, event_types: types })
      rejected(response, Array.isArray(types) && types[0] === null ? "event_types.0" : "event_types")
    }
    rejected(await post("/webhooks", { event_types }), "url")
    rejected(await post("/webhooks", { url }), "event_types")
    rejected(await post("/webhooks", { url, event_types, secret: "mine" }), "secret")
    rejected(await post("/webhooks", { url, event_types, include_resource: 1 }), "include_resource")
    assert.isTrue((await create({ include_resource: true })).include_resource)
    for (const type of all_types) assert.deepStrictEqual((await create({ event_types: [type] })).event_types, [type])
  })
})

describe("list", () => {
  it("shows the 100 newest first, whatever their status, and those of one status", async () => {
    const { create, disable, get, post, url } = await begin()
    const all: Array<string> = []
    for (let count = 0; count < 100; count++) all.push((await create()).id)
    const listed = async (query = "") => {
      const { data, next_cursor } = (await get(`/webhooks${query}`)).body
      assert.isNull(next_cursor)
      return data.map(({ id }: { readonly id: string }) => id)
    }
    assert.deepStrictEqual(await listed(), all.toReversed())

    const one_more = await post("/webhooks", { url, event_types })
    rejected(one_more, null, "conflict", 409)
    assert.include(one_more.body.error.message, "100 active webhooks")
    const [oldest = "", , middle = ""] = all
    await disable(middle)
    assert.deepStrictEqual(await listed(), all.toReversed())
    assert.deepStrictEqual(await listed("?status=all"), all.toReversed())
    assert.deepStrictEqual(await listed("?status=disabled"), [middle])
    all.push((await create()).id)
    assert.notInclude(await listed(), oldest)
    assert.deepStrictEqual(await listed(), all.slice(1).toReversed())
    assert.deepStrictEqual(await listed("?status=active"), all.filter((id) => id !== middle).toReversed())
    rejected(await get("/webhooks?status=paused"), "status")
  })
})

describe("update", () => {
  it("changes what is given and keeps the rest, and a get shows it", async () => {
    const { create, get, update, url } = await begin()
    const { signing_secret: _signing_secret, ...webhook } = await create()
    const other = { ...webhook, url: `${url}/2` }
    assert.deepStrictEqual((await update(webhook.id, { url: other.url })).body.data, other)
    for (let length = 1; length <= 5; length++) {
      const types = event_types.slice(0, length)
      assert.deepStrictEqual((await update(webhook.id, { event_types: types })).body.data, {
        ...other,
        event_types: types
      })
    }
    const asking = { ...other, event_types, include_resource: true }
    assert.deepStrictEqual((await update(webhook.id, { include_resource: true })).body.data, asking)
    assert.deepStrictEqual((await update(webhook.id, { url: other.url })).body.data, asking)
    assert.deepStrictEqual((await update(webhook.id, { include_resource: false })).body.data, { ...other, event_types })
    assert.deepStrictEqual((await update(webhook.id, {})).body.data, { ...other, event_types })
    assert.deepStrictEqual<object>((await get(`/webhooks/${webhook.id}`)).body, { data: { ...other, event_types } })
    assert.deepStrictEqual((await get("/webhooks")).body.data, [{ ...other, event_types }])
  })

  it("rejects what a creation rejects, an unknown webhook, and a change of a disabled one", async () => {
    const { create, disable, get, update, url } = await begin()
    const { id } = await create()
    for (
      const [json, param] of [
        [{ url: "http://shop.example/crm" }, "url"],
        [{ url: null }, "url"],
        [{ event_types: [] }, "event_types"],
        [{ event_types: [...event_types, "message.sent"] }, "event_types"],
        [{ event_types: null }, "event_types"],
        [{ include_resource: null }, "include_resource"],
        [{ include_resource: "true" }, "include_resource"],
        [{ status: "disabled" }, "status"]
      ] as const
    ) {
      rejected(await update(id, json), param)
    }
    rejected(await update(absent, {}), null, "not_found", 404)
    rejected(await get(`/webhooks/${absent}`), null, "not_found", 404)
    const { body } = await disable(id)
    assert.deepStrictEqual((await get(`/webhooks/${id}`)).body, body)
    rejected(await update(id, { url: `${url}/2` }), null, "conflict", 409)
    assert.deepStrictEqual((await update(id, { url })).body, body)
  })
})

describe("rotate the secret", () => {
  it("returns a new secret, shown once, and public libraries verify with either", async () => {
    const { close, create, get, post, posted, settled } = await begin()
    const { signing_secret: former, ...webhook } = await create()
    const rotated = await post(`/webhooks/${webhook.id}/rotate_secret`)
    const { signing_secret, ...rest } = rotated.body.data
    assert.deepStrictEqual(rest, webhook)
    assert.match(signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.notStrictEqual(signing_secret, former)
    assert.notInclude((await get(`/webhooks/${webhook.id}`)).text, "whsec_")
    await close()
    await settled(webhook.id)
    const [{ body, headers } = assert.fail("Nothing was posted.")] = await posted()
    for (const secret of [former, signing_secret]) {
      new StandardWebhook(secret).verify(body, headers)
      new SvixWebhook(secret).verify(body, headers)
    }
  })

  it("is rejected for an unknown and a disabled webhook, and for a sixth secret", async () => {
    const { create, disable, post } = await begin()
    const { id } = await create()
    for (let count = 1; count < 5; count++) {
      assert.strictEqual((await post(`/webhooks/${id}/rotate_secret`)).status, 200)
    }
    rejected(await post(`/webhooks/${id}/rotate_secret`), null, "conflict", 409)
    rejected(await post(`/webhooks/${absent}/rotate_secret`), null, "not_found", 404)
    const other = await create()
    await disable(other.id)
    rejected(await post(`/webhooks/${other.id}/rotate_secret`), null, "conflict", 409)
  })
})
