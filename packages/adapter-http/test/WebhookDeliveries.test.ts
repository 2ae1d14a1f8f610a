/** Tests of posts to webhooks: `/webhooks/{webhook_id}/deliveries`, tests, and replays. */
import { assert, describe, it } from "@effect/vitest"
import { WebhookRequestFailed } from "@messaging-crm/core/WebhookTransport"
import { Effect } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { afterAll } from "vitest"
import { idempotency } from "../testing/Service.ts"
import { absent, rejected, startWithWebhooks } from "./WebhookScene.ts"

const { begin, service } = startWithWebhooks()
afterAll(() => service.stop())

interface Delivery {
  readonly event_type: string
  readonly status: string
}

const ok = { status: 200, body: "", retry_after: null }

describe("test", () => {
  it("returns the delivery of one event, which is posted, and is rejected for an unknown and a disabled webhook", async () => {
    const { create, deliveries, disable, post, posted, settled } = await begin()
    const { id } = await create()
    const tested = await post(`/webhooks/${id}/test`)
    assert.strictEqual(tested.status, 202)
    assert.deepStrictEqual(await deliveries(id), [tested.body.data])
    assert.deepStrictEqual((await settled(id)).map(({ event_type, status }: Delivery) => [event_type, status]), [
      ["webhook.test", "succeeded"]
    ])
    assert.lengthOf(await posted(), 1)
    rejected(await post(`/webhooks/${absent}/test`), null, "not_found", 404)
    await disable(id)
    rejected(await post(`/webhooks/${id}/test`), null, "conflict", 409)
    rejected(await post("/webhooks", { url: "https://shop.example/crm", event_types: ["webhook.test"] }), "event_types")
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
    rejected(await replay(timestamp), null, "conflict", 409)
    await service.until(async () => (await posted()).length === 2)
    const [first, second] = await posted()
    assert.strictEqual(second?.body, first?.body)
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
    const other = await create()
    assert.strictEqual((await replay(days(29.9999), other.id)).status, 202)
    for (const since of [days(30.0001), days(-0.001), "2026-11-20", "now", null, 1]) {
      rejected(await replay(since, other.id), "since")
    }
    rejected(await replay(timestamp, absent), null, "not_found", 404)
    await disable(other.id)
    rejected(await replay(timestamp, other.id), null, "conflict", 409)
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
  it("show the outcome of the last attempt, and the time of the next one", async () => {
    const { response, close, create, key, settled } = await begin()
    const { id } = await create()
    await response(({ url }) => Effect.succeed(url.includes("shop") ? { ...ok, status: 503, body: "busy \u0000" } : ok))
    await close()
    const [delivery] = await settled(id)
    await response(() => Effect.succeed(ok))
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
    const { next_attempt_at, ...same } = retried.body.data
    assert.deepStrictEqual({ ...same, next_attempt_at: delivery.next_attempt_at }, delivery)
    assert.isBelow(Date.parse(next_attempt_at), Date.parse(delivery.next_attempt_at))
  })

  it("show why there was no response", async () => {
    const { response, close, create, settled } = await begin()
    const { id } = await create()
    const codes = ["dns_error", "blocked_address", "tls_error", "timeout"] as const
    for (const [index, failure_code] of codes.entries()) {
      await response(() => Effect.fail(new WebhookRequestFailed({ failure_code })))
      await close()
      const [delivery] = await settled(id, index + 1)
      assert.strictEqual(delivery.failure_code, failure_code)
      assert.isNull(delivery.response_status)
      assert.isNull(delivery.response_body)
    }
    await response(() => Effect.succeed(ok))
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

  it("returns 404 for a delivery of another webhook", async () => {
    const { close, create, post, settled } = await begin()
    const [one, other] = [await create(), await create({ event_types: ["send.failed"] })]
    await close()
    const [delivery] = await settled(one.id)
    rejected(await post(`/webhooks/${other.id}/deliveries/${delivery.id}/retry`), null, "not_found", 404)
    rejected(await post(`/webhooks/${one.id}/deliveries/${absent}/retry`), null, "not_found", 404)
    rejected(await post(`/webhooks/${one.id}/deliveries/x/retry`), "delivery_id")
    rejected(await post(`/webhooks/${one.id}/deliveries/${delivery.id}/retry`, { now: true }), "now")
  })
})
