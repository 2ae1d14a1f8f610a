/** A webhook delivery, the states that it passes through (contract §14.12), and the times of its attempts. */
import { DateTime, Duration, Option, Schema } from "effect"
import { AnyEventType } from "../events/Events.ts"
import { FailureCode } from "../kernel/DeliveryFailure.ts"
import { EventId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { WebhookRow } from "../webhooks/Webhook.ts"
import * as Changes from "../work/Changes.ts"
import { deliveryIdOf, type RaisedEvent } from "../work/Changes.ts"
import type { Row } from "../work/Rows.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import type { Attempt } from "./WebhookAttempt.ts"

// ---------------------------------------------------------------- data

export const WebhookDeliveryStatus = Schema.Literals(["pending", "succeeded", "failed"])
export type WebhookDeliveryStatus = typeof WebhookDeliveryStatus.Type

export const WebhookDelivery = Schema.Struct({
  id: WebhookDeliveryId,
  webhook_id: WebhookId,
  event_id: EventId.pipe(Schema.annotateEncoded({ description: "The event's `id`, and its `webhook-id` header." })),
  event_type: AnyEventType,
  status: WebhookDeliveryStatus.annotate({ description: "`succeeded` after an attempt with a 2xx response." }),
  attempt_count: Schema.Int,
  response_status: Schema.NullOr(Schema.Int).annotate({
    description: "Status of the last attempt; null if there was no response."
  }),
  response_body: Schema.NullOr(Schema.String).annotate({ description: "First 4 KiB of the last attempt's response." }),
  failure_code: Schema.NullOr(FailureCode).annotate({ description: "Why the last attempt failed." }),
  duration_ms: Schema.NullOr(Schema.Int).annotate({ description: "Duration of the last attempt, in milliseconds." }),
  last_attempt_at: Schema.NullOr(Timestamp),
  next_attempt_at: Schema.NullOr(Timestamp).annotate({ description: "Null once the delivery has ended." }),
  created_at: Timestamp
}).annotate({ identifier: "WebhookDelivery", description: "One event for one webhook, with its attempts." })
export interface WebhookDelivery extends Schema.Schema.Type<typeof WebhookDelivery> {}

export type WebhookDeliveryRow = Row<WebhookDelivery>

export const WebhookDeliveryRows = Changes.declareTable(WebhookDelivery)({
  name: "webhook_deliveries",
  key: { id: "uuid" }
})

/** A delivery with what an attempt needs. */
export interface Outgoing {
  readonly delivery: WebhookDeliveryRow
  /** The event's exact bytes. */
  readonly body: string
  /** The same with its resource; null where none is stored. */
  readonly full_body: string | null
  readonly webhook: WebhookRow
}

/** Claimed work, with its delivery; null where that is not loaded yet, or does not exist. */
export interface ClaimedDelivery {
  readonly claimed: ClaimedWork
  readonly outgoing: Outgoing | null
}

// ----------------------------------------------------------- decisions

/** Returns the first state of an event's delivery to a webhook. */
export const newDelivery = (
  { created_at, id: event_id, type }: Pick<RaisedEvent, "created_at" | "id" | "type">,
  webhook_id: WebhookId
): WebhookDelivery => ({
  id: deliveryIdOf(event_id, webhook_id),
  webhook_id,
  event_id,
  // The cast is safe, because only `Events.make` creates events.
  event_type: type as AnyEventType,
  status: "pending",
  attempt_count: 0,
  response_status: null,
  response_body: null,
  failure_code: null,
  duration_ms: null,
  last_attempt_at: null,
  next_attempt_at: created_at,
  created_at
})

/** The states of a delivery: each function returns what the transition sets. */
export const DeliveryState = {
  /** An attempt succeeded, or failed. `next_attempt_at` is null when no other attempt follows. */
  attempt: (
    { attempt_count }: Pick<WebhookDelivery, "attempt_count">,
    { at, ...result }: Attempt,
    next_attempt_at: Timestamp | null
  ) =>
    ({
      ...result,
      attempt_count: attempt_count + 1,
      last_attempt_at: at,
      next_attempt_at,
      status: result.failure_code === null ? "succeeded" : next_attempt_at === null ? "failed" : "pending"
    }) as const,
  /** The delivery fails without another attempt. */
  abandon: (failure_code: FailureCode) => ({ status: "failed", failure_code, next_attempt_at: null }) as const,
  /** The delivery is due now. */
  retry: (next_attempt_at: Timestamp) => ({ status: "pending", next_attempt_at }) as const
}

/** The delay after the first, second … failed attempt. */
export const delays = schedules.delivery.pauses

/**
 * Returns the time of the next attempt after `attempt_count` attempts, or none when there are no more.
 *
 * `random` is from 0 to 1, for the jitter. `retry_after` lengthens the delay, up to twice its usual length or to one hour,
 * whichever is longer.
 */
export const nextAttempt = (
  attempt_count: number,
  now: Timestamp,
  retry_after: Duration.Duration | null,
  random: number
): Option.Option<Timestamp> => {
  const usual = delays[attempt_count - 1]
  if (usual === undefined) return Option.none()
  // In whole milliseconds, the precision of every store.
  const pause = Duration.millis(Math.round(Duration.toMillis(pauseAfter(schedules.delivery, attempt_count, random))))
  const most = Duration.max(Duration.times(usual, 2), Duration.hours(1))
  return Option.some(
    DateTime.addDuration(now, Duration.min(Duration.max(retry_after ?? Duration.zero, pause), most))
  )
}
