/** The consequences of a delivery attempt: for the delivery, its webhook, and the webhook's lane. */
import { DateTime, Duration, Effect, Metric, Option } from "effect"
import { webhooks_disabled } from "../kernel/Metrics.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import {
  type Health,
  healthy,
  pauseOf,
  recordFailure,
  shouldDisable,
  type WebhookRow,
  WebhookRows
} from "../webhooks/Webhook.ts"
import { disable, type DisablingReason } from "../webhooks/WebhookDecisions.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import { type ClaimedWork, kind_rules } from "../work/WorkQueue.ts"
import { type Attempt, parseRetryAfter, type Posted } from "./WebhookAttempt.ts"
import { DeliveryState, nextAttempt, type Outgoing, WebhookDeliveryRows } from "./WebhookDelivery.ts"

/**
 * Returns how many concurrent attempts an endpoint gets, given its response time: the cap of its lane divided by the seconds.
 *
 * So a slow endpoint leaves the organization's slots in the workers to its other webhooks.
 */
export const attemptsAtOnce = ({ duration_ms }: Pick<Attempt, "duration_ms">): number =>
  Math.max(1, Math.floor(kind_rules.webhook_delivery.cap / Math.max(1, duration_ms / 1000)))

/** Throttles the lane of a webhook. A disabled one stays without a throttle, because nothing would end it. */
const throttle = ({ id: lane, status }: WebhookRow, until: Timestamp | null, cap: number): Changes.Changes =>
  status === "disabled" ? Changes.none : Changes.throttle({ kind: "webhook_delivery", lane, until, cap })

/**
 * The changes after a 2xx.
 *
 * The row of a healthy webhook is only expected, not updated: otherwise all
 * its deliveries would conflict with each other.
 */
export const afterSuccess = (
  claimed: ClaimedWork,
  { delivery, webhook }: Outgoing,
  attempt: Attempt
): Changes.Changes => {
  const wasFailing = webhook.consecutive_failures > 0
  const cap = attemptsAtOnce(attempt)
  return Changes.all(
    WebhookDeliveryRows.update(delivery, DeliveryState.attempt(delivery, attempt, null)),
    wasFailing ? WebhookRows.update(webhook, healthy) : WebhookRows.expect(webhook),
    wasFailing || cap !== claimed.lane_cap
      ? throttle(webhook, null, cap)
      : Changes.none,
    Changes.finish(claimed)
  )
}

/** Ends the pause of a webhook whose endpoint has succeeded after failures. */
export const endPause = (webhook: WebhookRow): Changes.Changes =>
  webhook.consecutive_failures === 0 ? Changes.none : throttle(webhook, null, kind_rules.webhook_delivery.cap)

/** The changes of a webhook whose endpoint has succeeded after failures: its pause ends. */
export const recordRecovery = (webhook: WebhookRow): Changes.Changes =>
  webhook.consecutive_failures === 0
    ? Changes.none
    : Changes.all(WebhookRows.update(webhook, healthy), endPause(webhook))

/** Pauses the lane of a webhook whose endpoint keeps failing, and limits it to one attempt at a time. */
const applyBackoff = (webhook: WebhookRow, health: Health, now: Timestamp): Changes.Changes => {
  const pause = pauseOf(health)
  return pause === null ? Changes.none : throttle(webhook, DateTime.addDuration(now, pause), 1)
}

/** How long a webhook waits if no key decrypts its signing secret. */
const unreadable_pause = Duration.minutes(1)

/** Keeps a delivery that could not be signed pending. One delivery of the webhook is tried again each minute. */
export const postponeUnreadable = (claimed: ClaimedWork, webhook: WebhookRow, now: Timestamp): Changes.Changes => {
  const until = DateTime.addDuration(now, unreadable_pause)
  return Changes.all(
    throttle(webhook, until, 1),
    Changes.settle({ claimed, outcome: "postpone", due_at: until })
  )
}

export const reportUnreadable = ({ id: webhook_id }: WebhookRow) =>
  Effect.annotateLogs(
    Effect.logError(
      "No key in SECRET_KEY (RootKeys if the core is embedded) decrypts the signing secret of a webhook: its deliveries wait"
    ),
    { webhook_id }
  )

/** Reschedules a delivery for 5 to 15 seconds later, because its host has the maximum number of attempts in progress. */
export const yieldHost = (claimed: ClaimedWork, now: Timestamp, random: number): Changes.Changes =>
  Changes.settle({ claimed, outcome: "postpone", due_at: DateTime.add(now, { seconds: 5 + Math.floor(random * 10) }) })

/** Makes a delivery due now without counting an attempt: nothing was posted, or the failed attempt used a former URL. */
export const postAgain = (claimed: ClaimedWork, due_at: Timestamp): Changes.Changes =>
  Changes.settle({ claimed, outcome: "postpone", due_at })

/** Why a failed attempt disables its webhook: the endpoint is gone, or has failed for too long; null if it does not. */
export type Disabling = Exclude<DisablingReason, "request"> | null

const disablingOf = ({ response_status }: Attempt, { status }: WebhookRow, health: Health, now: Timestamp): Disabling =>
  status === "disabled" ? null : response_status === 410 ? "gone" : shouldDisable(health, now) ? "failing" : null

/** Counts a failure of the endpoint: its webhook is disabled, or paused. */
export const recordEndpointFailure = (
  webhook: WebhookRow,
  attempt: Attempt,
  context: DecisionContext
): Changes.Decision<Disabling> => {
  const health = recordFailure(webhook, context.now)
  const disabling = disablingOf(attempt, webhook, health, context.now)
  return {
    result: disabling,
    changes: disabling !== null || webhook.status === "disabled"
      ? disable(webhook, health, attempt.at, disabling ?? "request", context).changes
      : Changes.all(WebhookRows.update(webhook, health), applyBackoff(webhook, health, context.now))
  }
}

/** The changes after a failed attempt: another attempt follows, unless it was the last or the webhook is disabled. */
export const afterFailure = (
  claimed: ClaimedWork,
  { delivery, webhook }: Outgoing,
  { attempt, retry_after }: Posted,
  random: number,
  context: DecisionContext
): Changes.Decision<Disabling> => {
  const { now } = context
  const { result: disabling, changes: endpoint } = recordEndpointFailure(webhook, attempt, context)
  const isOver = disabling !== null || webhook.status === "disabled"
  const next = isOver
    ? Option.none()
    : nextAttempt(delivery.attempt_count + 1, now, parseRetryAfter(retry_after, now), random)
  const changes = Changes.all(
    WebhookDeliveryRows.update(delivery, DeliveryState.attempt(delivery, attempt, Option.getOrNull(next))),
    endpoint,
    Option.isNone(next)
      ? Changes.finish(claimed)
      : Changes.settle({ claimed, outcome: "postpone", due_at: next.value })
  )
  return { result: disabling, changes }
}

/**
 * The changes after an attempt at a URL. A failure does not count if the webhook no longer has that URL. The response is not
 * stored if the delivery has changed since the attempt began: an erasure can have removed what the response repeats.
 */
export const afterAttempt = (
  claimed: ClaimedWork,
  current: Outgoing,
  { before, posted: { attempt: whole, retry_after }, random }: {
    readonly before: Outgoing
    readonly posted: Posted
    readonly random: number
  },
  context: DecisionContext
): Changes.Decision<Disabling> => {
  const isSame = current.delivery.version === before.delivery.version
  const attempt = isSame ? whole : { ...whole, response_body: null }
  if (attempt.failure_code === null) return { result: null, changes: afterSuccess(claimed, current, attempt) }
  return current.webhook.url === before.webhook.url
    ? afterFailure(claimed, current, { attempt, retry_after }, random, context)
    : { result: null, changes: postAgain(claimed, context.now) }
}

/** Logs and counts that a webhook was disabled because of its endpoint. */
export const reportDisabled = ({ id: webhook_id }: WebhookRow, reason: Exclude<Disabling, null>) =>
  Effect.andThen(
    Metric.update(webhooks_disabled.of({ reason }), 1),
    Effect.annotateLogs(Effect.logWarning("Webhook disabled: its endpoint is gone or has failed for five days"), {
      webhook_id,
      reason
    })
  )
