/** The effects of an attempt of a delivery (contract §14.3, §14.9). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { EventId, OrganizationId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { type WebhookDeliveryRow, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { type WebhookRow, WebhookRows } from "@messaging-crm/core/Webhooks"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { DateTime } from "effect"
import type { Attempt } from "../../src/deliveries/WebhookAttempt.ts"
import {
  afterFailure,
  afterSuccess,
  endPause,
  postAgain,
  postponeUnreadable,
  recordEndpointFailure,
  recordRecovery
} from "../../src/deliveries/WebhookOutcome.ts"
import { after, context, id, noon, webhook } from "./Fixtures.ts"

const delivery: WebhookDeliveryRow = {
  id: WebhookDeliveryId.make(id(31)),
  webhook_id: webhook.id,
  event_id: EventId.make(id(32)),
  event_type: "message.sent",
  status: "pending",
  attempt_count: 1,
  response_status: 503,
  response_body: "busy",
  failure_code: "http_status",
  duration_ms: 12,
  last_attempt_at: noon,
  next_attempt_at: noon,
  created_at: noon,
  version: 2
}

const claimed: ClaimedWork = {
  organization_id: OrganizationId.make(id(50)),
  kind: "webhook_delivery",
  lane: webhook.id,
  ref: delivery.id,
  lane_cap: 16,
  attempt: 2,
  defects: 0,
  token: "token",
  trace: null
}

const healthy: WebhookRow = { ...webhook, consecutive_failures: 0, first_failure_at: null }
const disabled: WebhookRow = { ...webhook, status: "disabled", disabled_at: noon }

const accepted: Attempt = {
  at: after(1),
  duration_ms: 900,
  response_status: 200,
  response_body: "ok",
  failure_code: null
}
const rejected: Attempt = { ...accepted, response_status: 500, failure_code: "http_status" }

const finished = Changes.settle({ claimed, outcome: "finish" })
const throttled = (cap: number, until: DateTime.Utc | null = null) =>
  Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until, cap })

/** The result of the attempt as the delivery stores it. */
const recorded = ({ at, ...result }: Attempt, next_attempt_at: DateTime.Utc | null, status: string) =>
  WebhookDeliveryRows.update(delivery, {
    ...result,
    attempt_count: 2,
    last_attempt_at: at,
    next_attempt_at,
    status: status as WebhookDeliveryRow["status"]
  })

describe("a success", () => {
  const after = (to: WebhookRow, attempt = accepted, lane_cap = 16) =>
    afterSuccess({ ...claimed, lane_cap }, { delivery, body: "{}", full_body: null, webhook: to }, attempt)
  const record = recorded(accepted, null, "succeeded")

  it("leaves a healthy webhook and its lane alone", () => {
    assert.deepStrictEqual(after(healthy), Changes.all(record, WebhookRows.expect(healthy), finished))
  })

  it("changes the lane of a healthy webhook whose endpoint has become faster or slower", () => {
    const claimed_at_one = { ...claimed, lane_cap: 1 }
    assert.deepStrictEqual(
      after(healthy, accepted, 1),
      Changes.all(
        record,
        WebhookRows.expect(healthy),
        throttled(16),
        Changes.settle({ claimed: claimed_at_one, outcome: "finish" })
      )
    )
    assert.deepStrictEqual(after(healthy, { ...accepted, duration_ms: 4000 }).throttle, throttled(4).throttle)
  })

  it("ends the pause of a webhook that failed, and forgets its failures", () => {
    const forgotten = WebhookRows.update(webhook, { consecutive_failures: 0, first_failure_at: null })
    assert.deepStrictEqual(after(webhook), Changes.all(record, forgotten, throttled(16), finished))
    assert.deepStrictEqual(recordRecovery(webhook), Changes.all(forgotten, throttled(16)))
    assert.deepStrictEqual(endPause(webhook), throttled(16))
    assert.deepStrictEqual([recordRecovery(healthy), endPause(healthy)], [Changes.none, Changes.none])
  })

  it("leaves the lane of a disabled webhook alone, because nothing would end its throttle", () => {
    const disabled: WebhookRow = { ...healthy, status: "disabled", disabled_at: noon }
    assert.isUndefined(after(disabled, { ...accepted, duration_ms: 4000 }).throttle)
    assert.isUndefined(postponeUnreadable(claimed, disabled, noon).throttle)
    assert.deepStrictEqual(endPause({ ...disabled, consecutive_failures: 5 }), Changes.none)
  })
})

describe("a failure", () => {
  const outcome = (to: WebhookRow, attempt = rejected, attempt_count = 1) =>
    afterFailure(
      claimed,
      { delivery: { ...delivery, attempt_count }, body: "{}", full_body: null, webhook: to },
      { attempt, retry_after: null },
      0.5,
      context()
    )
  const counted = (failures: number) =>
    WebhookRows.update(webhook, { consecutive_failures: failures, first_failure_at: noon })

  it("is counted, and another attempt follows", () => {
    const due_at = DateTime.add(after(9), { minutes: 5 })
    assert.deepStrictEqual(outcome(webhook), {
      result: null,
      changes: Changes.all(
        recorded(rejected, due_at, "pending"),
        counted(4),
        Changes.settle({ claimed, outcome: "postpone", due_at })
      )
    })
  })

  it("is the last of the delivery after ten attempts", () => {
    const { changes } = outcome(webhook, rejected, 9)
    assert.deepStrictEqual(changes.settle, finished.settle)
    assert.deepInclude(changes.update?.[0]?.set, { status: "failed", next_attempt_at: null, attempt_count: 10 })
  })

  it("pauses its webhook from the fifth on, for one attempt at a time", () => {
    const failing = { ...webhook, consecutive_failures: 4 }
    assert.deepStrictEqual(recordEndpointFailure(failing, rejected, context()), {
      result: null,
      changes: Changes.all(counted(5), throttled(1, DateTime.add(after(9), { seconds: 30 })))
    })
  })

  it("disables its webhook if the endpoint is gone, or has failed for five days", () => {
    const long = { ...webhook, consecutive_failures: 9, first_failure_at: DateTime.subtract(after(9), { days: 5 }) }
    for (
      const [to, attempt, reason] of [
        [webhook, { ...rejected, response_status: 410 }, "gone"],
        [long, rejected, "failing"]
      ] as const
    ) {
      const { changes, result } = outcome(to, attempt)
      assert.strictEqual(result, reason)
      assert.deepInclude(changes.update?.find(({ table }) => table === WebhookRows.table)?.set, {
        status: "disabled",
        disabled_at: attempt.at
      })
      assert.include(changes.raise?.[0]?.body, `"reason":"${reason}"`)
      assert.deepStrictEqual(changes.settle, finished.settle)
    }
  })

  it("at a disabled webhook ends its delivery, and changes nothing else", () => {
    for (const attempt of [rejected, { ...rejected, response_status: 410 }]) {
      assert.deepStrictEqual(outcome(disabled, attempt), {
        result: null,
        changes: Changes.all(recorded(attempt, null, "failed"), finished)
      })
    }
  })
})

describe("a delivery that was not posted", () => {
  it("waits a minute with the others of its webhook, if its secret cannot be decrypted", () => {
    const until = DateTime.add(noon, { minutes: 1 })
    assert.deepStrictEqual(
      postponeUnreadable(claimed, webhook, noon),
      Changes.all(throttled(1, until), Changes.settle({ claimed, outcome: "postpone", due_at: until }))
    )
  })

  it("is due at once, if its webhook has another URL meanwhile", () => {
    assert.deepStrictEqual(postAgain(claimed, noon), Changes.settle({ claimed, outcome: "postpone", due_at: noon }))
  })
})
