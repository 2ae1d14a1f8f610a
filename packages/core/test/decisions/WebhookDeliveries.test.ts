import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { EventId, WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import * as WebhookDeliveries from "@messaging-crm/core/WebhookDeliveries"
import * as Webhooks from "@messaging-crm/core/Webhooks"
import { Option, Result } from "effect"
import { after, context, id, noon, rejection, webhook } from "./Fixtures.ts"

describe("a webhook delivery", () => {
  const delivery: WebhookDeliveries.WebhookDeliveryRow = {
    id: WebhookDeliveryId.make(id(31)),
    webhook_id: webhook.id,
    event_id: EventId.make(id(32)),
    event_type: "message.sent",
    status: "failed",
    attempt_count: 10,
    response_status: 503,
    response_body: "busy",
    failure_code: "http_status",
    duration_ms: 12,
    last_attempt_at: noon,
    next_attempt_at: null,
    created_at: noon,
    version: 11
  }
  const retry = (
    fields: Partial<WebhookDeliveries.WebhookDeliveryRow> = {},
    to: Webhooks.WebhookRow | null = webhook
  ) =>
    WebhookDeliveries.retry(
      Option.some({ delivery: { ...delivery, ...fields }, body: "{}", full_body: null, webhook }),
      Option.fromNullishOr(to),
      context()
    )

  it("that has ended is due again at once, and expects its webhook's version", () => {
    const set = { status: "pending", next_attempt_at: after(9) } as const
    const { result, changes } = Result.getOrThrow(retry())
    const { version: _version, ...before } = delivery
    assert.deepStrictEqual(result, { ...before, ...set })
    assert.deepStrictEqual(
      changes,
      Changes.all(
        WebhookDeliveries.WebhookDeliveryRows.update(delivery, set),
        Changes.enqueue({ kind: "webhook_delivery", lane: webhook.id, ref: delivery.id, due_at: after(9) }),
        Webhooks.WebhookRows.expect(webhook)
      )
    )
  })

  it("that is pending is due at once, unless it was due before", () => {
    const pending = (millis: number) => Result.getOrThrow(retry({ status: "pending", next_attempt_at: after(millis) }))
    const set = { status: "pending", next_attempt_at: after(9) } as const
    assert.deepStrictEqual(
      pending(10).changes,
      Changes.all(
        WebhookDeliveries.WebhookDeliveryRows.update(delivery, set),
        Changes.expedite({ kind: "webhook_delivery", lane: webhook.id, ref: delivery.id, due_at: after(9) }),
        Webhooks.WebhookRows.expect(webhook)
      )
    )
    assert.deepStrictEqual(pending(10).result.next_attempt_at, after(9))
    for (const millis of [8, 9]) {
      assert.deepStrictEqual(pending(millis).changes, WebhookDeliveries.WebhookDeliveryRows.expect(delivery))
      assert.deepStrictEqual(pending(millis).result.next_attempt_at, after(millis))
    }
  })

  it("is not retried for a disabled or another webhook", () => {
    assert.strictEqual(rejection(retry({}, null)), "WebhookNotFound")
    assert.strictEqual(rejection(retry({ webhook_id: WebhookId.make(id(99)) })), "WebhookDeliveryNotFound")
    assert.strictEqual(rejection(retry({}, { ...webhook, status: "disabled", disabled_at: noon })), "WebhookDisabled")
    assert.strictEqual(
      rejection(WebhookDeliveries.retry(Option.none(), Option.some(webhook), context())),
      "WebhookDeliveryNotFound"
    )
  })
})
