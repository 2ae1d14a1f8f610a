import { assert, it } from "@effect/vitest"
import { layer, PostedWebhooks } from "@messaging-crm/adapter-memory/WebhookTransport"
import { type WebhookRequest, WebhookRequestFailed, WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Effect } from "effect"

const request = (body: string): WebhookRequest => ({ url: "https://hooks.example", headers: {}, body })

it.effect("keeps every request in order, and returns the response that was set last", () =>
  Effect.gen(function*() {
    const { respond, posted } = yield* PostedWebhooks
    const { post } = yield* WebhookTransport
    assert.strictEqual((yield* post(request("1"))).status, 200)
    yield* respond(({ body }) =>
      body === "2"
        ? new WebhookRequestFailed({ failure_code: "timeout" })
        : Effect.succeed({ status: 503, body: "later", retry_after: "60" })
    )
    assert.strictEqual((yield* Effect.flip(post(request("2")))).failure_code, "timeout")
    assert.deepStrictEqual(yield* post(request("3")), { status: 503, body: "later", retry_after: "60" })
    assert.deepStrictEqual((yield* posted).map(({ body }) => body), ["1", "2", "3"])
  }).pipe(Effect.provide(layer)))
