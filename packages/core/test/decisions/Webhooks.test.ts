/** Changes of a webhook: updates, rotations of its secret, and how it is disabled (contract §14). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { limits } from "@messaging-crm/core/Limits"
import { abandoned_max, healthy, toWebhook, type WebhookRow, WebhookRows } from "@messaging-crm/core/Webhooks"
import { Option, Result } from "effect"
import { create, disable, rotate, update } from "../../src/webhooks/WebhookDecisions.ts"
import { after, context, noon, rejection, webhook } from "./Fixtures.ts"

const disabled: WebhookRow = { ...webhook, status: "disabled", disabled_at: noon }
const unthrottled = Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until: null, cap: 16 })

it("a webhook is rejected if the organization has the maximum number of active ones", () => {
  const created = (active: number) => create({ active, organization: Option.none() }, webhook, context())
  assert.isNull(rejection(created(limits.webhooks_active_max - 1)))
  assert.strictEqual(rejection(created(limits.webhooks_active_max)), "TooManyWebhooks")
})

describe("an update of a webhook", () => {
  it("with its own values changes nothing, even if it is disabled", () => {
    const { event_types, include_resource, url } = webhook
    for (const row of [webhook, disabled]) {
      for (const set of [{}, { event_types, include_resource, url }]) {
        const unchanged = { result: toWebhook(row), changes: Changes.none }
        assert.deepStrictEqual(Result.getOrThrow(update(row, set)), unchanged)
      }
    }
  })

  it("with another URL forgets the failures of the former endpoint, and ends its pause", () => {
    const url = "https://shop.example/other"
    assert.deepStrictEqual(
      Result.getOrThrow(update(webhook, { url })).changes,
      Changes.all(WebhookRows.update(webhook, { url, ...healthy }), unthrottled)
    )
  })

  it("with other event types or resources keeps the failures of its endpoint", () => {
    for (const set of [{ event_types: ["message.received"] }, { include_resource: true }] as const) {
      assert.deepStrictEqual(Result.getOrThrow(update(webhook, set)).changes, WebhookRows.update(webhook, set))
    }
  })

  it("is rejected if it is disabled", () => {
    assert.strictEqual(rejection(update(disabled, { include_resource: true })), "WebhookDisabled")
  })
})

it("a rotation is rejected for a disabled webhook, and if too many secrets would sign", () => {
  assert.strictEqual(rejection(rotate(disabled, "sealed anew")), "WebhookDisabled")
  assert.strictEqual(rejection(rotate(webhook, null)), "TooManySecrets")
  const { changes } = Result.getOrThrow(rotate(webhook, "sealed anew"))
  assert.deepStrictEqual(changes, WebhookRows.update(webhook, { sealed_secret: "sealed anew" }))
})

describe("a webhook that is disabled", () => {
  it("fails its newest deliveries, loses its pause, and is reported", () => {
    const { changes, result } = disable(webhook, healthy, after(1), "gone", context())
    const set = { status: "disabled", disabled_at: after(1) } as const
    assert.deepStrictEqual(result, { ...toWebhook(webhook), ...set })
    assert.deepStrictEqual(changes.update, WebhookRows.update(webhook, { ...set, ...healthy }).update)
    assert.deepStrictEqual(changes.abandon, [{ webhook_id: webhook.id, limit: abandoned_max }])
    assert.deepStrictEqual(changes.throttle, unthrottled.throttle)
    const event = JSON.parse(changes.raise?.[0]?.body ?? "")
    assert.deepStrictEqual(event.data, { conversation_id: null, webhook_id: webhook.id, reason: "gone" })
  })

  it("does not change again", () => {
    const unchanged = { result: toWebhook(disabled), changes: Changes.none }
    assert.deepStrictEqual(disable(disabled, healthy, after(1), "request", context()), unchanged)
  })
})
