import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Webhooks from "@messaging-crm/core/Webhooks"
import { after, noon, webhook } from "./Fixtures.ts"

describe("a webhook", () => {
  it("is disabled once, with its newest deliveries, and its lane is not paused any more", () => {
    const health = { consecutive_failures: 4, first_failure_at: noon }
    const set = { status: "disabled", disabled_at: after(9), ...health } as const
    const { answer, changes } = Webhooks.disable(webhook, health, after(9))
    assert.deepStrictEqual(answer, Webhooks.toWebhook({ ...webhook, ...set }))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Webhooks.WebhookRows.update(webhook, set),
        { abandon: [{ webhook_id: webhook.id, limit: Webhooks.abandoned_max }] },
        Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until: null, cap: 8 })
      )
    )
    const disabled = { ...webhook, ...set }
    assert.deepStrictEqual(Webhooks.disable(disabled, health, after(99)), {
      answer: Webhooks.toWebhook(disabled),
      changes: Changes.none
    })
  })
})
