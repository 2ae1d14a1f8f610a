/** `/webhooks`, and what is posted to them. */
import { assert, describe, it } from "@effect/vitest"
import { PostedWebhooks } from "@messaging-crm/adapter-memory/WebhookTransport"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { WebhookRequestFailed } from "@messaging-crm/core/WebhookTransport"
import { Effect, Layer } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { afterAll } from "vitest"
import { type Answer, idempotency, start } from "./Service.ts"

const service = start({ tuning: Layer.succeed(RequestsPerMinute, 100_000) })
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

const absent = "01990000-0000-7000-8000-000000000000"

let hosts = 0

/** An organization, and how to ask for its webhooks. */
const begin = async () => {
  const { channel, key, organization } = await service.organization()
  const url = `https://shop-${++hosts}.example/crm`
  const get = (path: string) => service.request("GET", `/v1${path}`, { key })
  const post = (path: string, json?: unknown) =>
    service.request("POST", `/v1${path}`, { key, ...(json === undefined ? {} : { json }), ...idempotency() })
  const create = async (fields: object = {}) =>
    (await post("/webhooks", { url, event_types: ["conversation.closed"], ...fields })).body.data
  const posted = () =>
    service.runtime.runPromise(PostedWebhooks.use((webhooks) => webhooks.posted)).then((all) =>
      all.filter((request) => request.url === url)
    )
  const answer = (how: Parameters<PostedWebhooks["Service"]["answer"]>[0]) =>
    service.runtime.runPromise(PostedWebhooks.use((webhooks) => webhooks.answer(how)))
  const conversation = async () => {
    const account = channel.phone_messaging_business_account_id
    const template = {
      id: `${account}.spring_sale`,
      components: [{ type: "body", parameters: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }]
    }
    const send = await post("/conversations", { channel_id: channel.id, phone: "+4915112345678", template })
    return send.body.data.conversation_id
  }
  const close = async () => {
    const conversation_id = await conversation()
    await post(`/conversations/${conversation_id}/close`)
    return conversation_id
  }
  const deliveries = async (id: string) => (await get(`/webhooks/${id}/deliveries`)).body.data
  const settled = async (id: string) => {
    await service.until(async () =>
      (await deliveries(id)).every(({ attempt_count }: { readonly attempt_count: number }) => attempt_count > 0)
    )
    return deliveries(id)
  }
  const disable = (id: string) => service.request("DELETE", `/v1/webhooks/${id}`, { key, ...idempotency() })
  const update = (id: string, json: unknown) =>
    service.request("PATCH", `/v1/webhooks/${id}`, { key, json, ...idempotency() })
  return { update, answer, close, create, deliveries, disable, get, key, organization, post, posted, settled, url }
}

interface Delivery {
  readonly event_type: string
  readonly status: string
}

interface Listed {
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly conversation_id?: string }
}

const ok = { status: 200, body: "", retry_after: null }

const refused = (answer: Answer, param: string | null, code = "invalid_input", status = 400) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.body.error.code, code)
  assert.strictEqual(answer.body.error.param, param)
}

describe("create", () => {
  it("answers with the webhook and its secret, which no list ever shows", async () => {
    const { create, get, url } = await begin()
    const created = await create({ event_types })
    const { signing_secret, ...webhook } = created
    assert.match(signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.deepStrictEqual(webhook, {
      id: webhook.id,
      url,
      event_types,
      status: "active",
      created_at: webhook.created_at,
      disabled_at: null
    })
    const listed = await get("/webhooks")
    assert.deepStrictEqual(listed.body, { data: [webhook], next_cursor: null })
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

  it("refuses what is no public https URL, naming it", async () => {
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
      refused(await post("/webhooks", { url, event_types }), "url")
    }
    assert.lengthOf((await get("/webhooks")).body.data, 0)
  })

  it("takes one to five different types", async () => {
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
      const answer = await post("/webhooks", { url, event_types: types })
      refused(answer, Array.isArray(types) && types[0] === null ? "event_types.0" : "event_types")
    }
    refused(await post("/webhooks", { event_types }), "url")
    refused(await post("/webhooks", { url }), "event_types")
    refused(await post("/webhooks", { url, event_types, secret: "mine" }), "secret")
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
    refused(one_more, null, "conflict", 409)
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
    refused(await get("/webhooks?status=paused"), "status")
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
    assert.deepStrictEqual((await update(webhook.id, {})).body.data, { ...other, event_types })
    assert.deepStrictEqual((await get(`/webhooks/${webhook.id}`)).body, { data: { ...other, event_types } })
    assert.deepStrictEqual((await get("/webhooks")).body.data, [{ ...other, event_types }])
  })

  it("refuses what a creation refuses, an unknown webhook, and a change of a disabled one", async () => {
    const { create, disable, get, update, url } = await begin()
    const { id } = await create()
    for (
      const [json, param] of [
        [{ url: "http://shop.example/crm" }, "url"],
        [{ url: null }, "url"],
        [{ event_types: [] }, "event_types"],
        [{ event_types: [...event_types, "message.sent"] }, "event_types"],
        [{ event_types: null }, "event_types"],
        [{ status: "disabled" }, "status"]
      ] as const
    ) {
      refused(await update(id, json), param)
    }
    refused(await update(absent, {}), null, "not_found", 404)
    refused(await get(`/webhooks/${absent}`), null, "not_found", 404)
    const { body } = await disable(id)
    assert.deepStrictEqual((await get(`/webhooks/${id}`)).body, body)
    refused(await update(id, { url: `${url}/2` }), null, "conflict", 409)
    assert.deepStrictEqual((await update(id, { url })).body, body)
  })
})

describe("test", () => {
  it("answers with the delivery of one event, which is posted, and is refused for an unknown and a disabled webhook", async () => {
    const { create, deliveries, disable, post, posted, settled } = await begin()
    const { id } = await create()
    const tested = await post(`/webhooks/${id}/test`)
    assert.strictEqual(tested.status, 202)
    assert.deepStrictEqual(await deliveries(id), [tested.body.data])
    assert.deepStrictEqual((await settled(id)).map(({ event_type, status }: Delivery) => [event_type, status]), [
      ["webhook.test", "succeeded"]
    ])
    assert.lengthOf(await posted(), 1)
    refused(await post(`/webhooks/${absent}/test`), null, "not_found", 404)
    await disable(id)
    refused(await post(`/webhooks/${id}/test`), null, "conflict", 409)
    refused(await post("/webhooks", { url: "https://shop.example/crm", event_types: ["webhook.test"] }), "event_types")
  })
})

describe("events", () => {
  it("are listed without a webhook, newest first, by page, type and time", async () => {
    const { close, get } = await begin()
    const closed = [await close(), await close()]
    const listed = async (query: string) => (await get(`/events?${query}`)).body.data as ReadonlyArray<Listed>
    const all = await listed("")
    assert.deepStrictEqual(
      all.filter(({ type }) => type === "conversation.closed").map(({ data }) => data.conversation_id),
      closed.toReversed()
    )
    assert.deepStrictEqual(
      await listed("type=conversation.closed"),
      all.filter(({ type }) => type === "conversation.closed")
    )
    const walked: Array<Listed> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Answer = await get(`/events?page_size=1&cursor=${cursor}`)
      walked.push(...page.body.data)
      cursor = page.body.next_cursor
    }
    assert.deepStrictEqual(walked, all)
    const [{ timestamp } = assert.fail("There is no event.")] = all
    const later = new Date(Date.parse(timestamp) + 1).toISOString()
    assert.deepStrictEqual(await listed(`since=${timestamp}`), all.filter((event) => event.timestamp === timestamp))
    assert.deepStrictEqual(await listed(`since=${later}`), [])
    assert.deepStrictEqual(await listed("since=0001-01-01T00:00:00Z"), all)
    assert.deepStrictEqual(await listed("since=9999-12-31T23:59:59Z"), [])
    for (
      const [query, param] of [
        ["type=message.read", "type"],
        ["type=", "type"],
        ["since=2026-11-20", "since"],
        ["since=2026-02-30T00:00:00Z", "since"],
        ["since=2026-11-20T00:00:00%2B01:00", "since"],
        ["since=", "since"],
        ["page_size=0", "page_size"],
        ["page_size=101", "page_size"],
        ["cursor=x", "cursor"]
      ] as const
    ) {
      refused(await get(`/events?${query}`), param)
    }
  })
})

describe("replay", () => {
  it("posts events again, of the last 30 days and once at a time", async () => {
    const { close, create, disable, get, post, posted, settled } = await begin()
    const { id } = await create()
    await close()
    await settled(id)
    const [{ timestamp } = assert.fail("There is no event.")] =
      (await get("/events?type=conversation.closed")).body.data
    const replay = (since: unknown, of = id) => post(`/webhooks/${of}/replay`, { since })
    const started = await replay(timestamp)
    assert.strictEqual(started.status, 202)
    const { created_at, id: replay_id, ...rest } = started.body.data
    assert.deepStrictEqual(rest, { webhook_id: id, since: timestamp })
    assert.isString(replay_id)
    assert.isAtLeast(Date.parse(created_at), Date.parse(timestamp))
    refused(await replay(timestamp), null, "conflict", 409)
    await service.until(async () => (await posted()).length === 2)
    const [first, second] = await posted()
    assert.strictEqual(second?.body, first?.body)
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
    const other = await create()
    assert.strictEqual((await replay(days(29.9999), other.id)).status, 202)
    for (const since of [days(30.0001), days(-0.001), "2026-11-20", "now", null, 1]) {
      refused(await replay(since, other.id), "since")
    }
    refused(await replay(timestamp, absent), null, "not_found", 404)
    await disable(other.id)
    refused(await replay(timestamp, other.id), null, "conflict", 409)
  })
})

describe("rotate the secret", () => {
  it("answers with a new one, shown once, and public libraries verify with either", async () => {
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

  it("is refused for an unknown and a disabled webhook, and for a sixth secret", async () => {
    const { create, disable, post } = await begin()
    const { id } = await create()
    for (let count = 1; count < 5; count++) {
      assert.strictEqual((await post(`/webhooks/${id}/rotate_secret`)).status, 200)
    }
    refused(await post(`/webhooks/${id}/rotate_secret`), null, "conflict", 409)
    refused(await post(`/webhooks/${absent}/rotate_secret`), null, "not_found", 404)
    const other = await create()
    await disable(other.id)
    refused(await post(`/webhooks/${other.id}/rotate_secret`), null, "conflict", 409)
  })
})

describe("an event", () => {
  it("is verified by the public libraries, and by them alone as it was sent", async () => {
    const { close, create, posted, settled } = await begin()
    const { id, signing_secret } = await create()
    const conversation_id = await close()
    const [delivery] = await settled(id)
    const [request] = await posted()
    if (request === undefined) return assert.fail("Nothing was posted.")
    const { body, headers } = request
    const expected = {
      id: delivery.event_id,
      type: "conversation.closed",
      timestamp: delivery.created_at,
      data: { conversation_id }
    }
    assert.strictEqual(body, JSON.stringify(expected))
    assert.strictEqual(headers["webhook-id"], delivery.event_id)
    assert.strictEqual(headers["content-type"], "application/json")
    const wrong: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
      [body.replace("closed", "opened"), headers],
      [body, { ...headers, "webhook-id": absent }],
      [body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 301) }]
    ]
    for (const library of [new StandardWebhook(signing_secret), new SvixWebhook(signing_secret)]) {
      assert.doesNotThrow(() => library.verify(body, { ...headers }))
      for (const [body, headers] of wrong) assert.throws(() => library.verify(body, { ...headers }))
    }
  })
})

describe("deliveries", () => {
  it("tell how the last attempt went, and when the next one is", async () => {
    const { answer, close, create, key, settled } = await begin()
    const { id } = await create()
    await answer(({ url }) => Effect.succeed(url.includes("shop") ? { ...ok, status: 503, body: "busy \u0000" } : ok))
    await close()
    const [delivery] = await settled(id)
    await answer(() => Effect.succeed(ok))
    assert.deepStrictEqual(delivery, {
      id: delivery.id,
      webhook_id: id,
      event_id: delivery.event_id,
      event_type: "conversation.closed",
      status: "pending",
      attempt_count: 1,
      response_status: 503,
      response_body: "busy \uFFFD",
      failure_code: "http_status",
      duration_ms: delivery.duration_ms,
      last_attempt_at: delivery.last_attempt_at,
      next_attempt_at: delivery.next_attempt_at,
      created_at: delivery.created_at
    })
    assert.isAtLeast(Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at), 5000)
    const retried = await service.request("POST", `/v1/webhooks/${id}/deliveries/${delivery.id}/retry`, {
      key,
      ...idempotency()
    })
    assert.strictEqual(retried.status, 202)
    assert.deepStrictEqual(retried.body.data, delivery)
  })

  it("tell why there was no answer", async () => {
    const { answer, close, create, settled } = await begin()
    const { id } = await create()
    for (const failure_code of ["dns_error", "blocked_address", "tls_error", "timeout"] as const) {
      await answer(() => Effect.fail(new WebhookRequestFailed({ failure_code })))
      await close()
      const [delivery] = await settled(id)
      assert.strictEqual(delivery.failure_code, failure_code)
      assert.isNull(delivery.response_status)
      assert.isNull(delivery.response_body)
    }
    await answer(() => Effect.succeed(ok))
  })
})

describe("retry", () => {
  it("posts the same event again, with a fresh signature", async () => {
    const { close, create, get, post, posted, settled } = await begin()
    const { id, signing_secret } = await create()
    await close()
    const [done] = await settled(id)
    assert.strictEqual(done.status, "succeeded")
    const retried = await post(`/webhooks/${id}/deliveries/${done.id}/retry`)
    assert.strictEqual(retried.status, 202)
    const { next_attempt_at, status, ...same } = retried.body.data
    assert.strictEqual(status, "pending")
    assert.isAtMost(Date.parse(next_attempt_at), Date.now())
    assert.deepStrictEqual({ ...same, next_attempt_at: null, status: "succeeded" }, done)
    await service.until(async () => (await get(`/webhooks/${id}/deliveries`)).body.data[0].attempt_count === 2)
    const [first, second] = await posted()
    assert.isDefined(second)
    assert.strictEqual(second?.body, first?.body)
    assert.strictEqual(second?.headers["webhook-id"], first?.headers["webhook-id"])
    const library = new StandardWebhook(signing_secret)
    assert.doesNotThrow(() => library.verify(second?.body ?? "", { ...second?.headers }))
  })

  it("answers 404 to a delivery of another webhook", async () => {
    const { close, create, post, settled } = await begin()
    const [one, other] = [await create(), await create({ event_types: ["send.failed"] })]
    await close()
    const [delivery] = await settled(one.id)
    refused(await post(`/webhooks/${other.id}/deliveries/${delivery.id}/retry`), null, "not_found", 404)
    refused(await post(`/webhooks/${one.id}/deliveries/${absent}/retry`), null, "not_found", 404)
    refused(await post(`/webhooks/${one.id}/deliveries/x/retry`), "delivery_id")
    refused(await post(`/webhooks/${one.id}/deliveries/${delivery.id}/retry`, { now: true }), "now")
  })
})
