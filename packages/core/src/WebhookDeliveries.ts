/**
 * Webhook deliveries: one event on its way to one webhook (spec §2.8, §6).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | pending | an attempt is answered with a 2xx | succeeded |
 * | pending | an attempt fails, and the schedule has another | pending |
 * | pending | the tenth attempt fails, the webhook is disabled | failed |
 * | succeeded, failed | retry | pending |
 *
 * The queue gives out at most eight deliveries of a webhook at a time. An
 * attempt is posted outside any unit of work, so a worker that dies in the
 * middle of one posts it again: with the same id and bytes.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option, Random, Redacted, Result, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { EventStore, EventType } from "./Events.ts"
import { EventId, Ids, type OrganizationId, WebhookDeliveryId, WebhookId, WorkId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { delivery_attempts } from "./Metrics.ts"
import { Secrets } from "./Secrets.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import {
  healthy,
  isHopeless,
  pauseOf,
  secretContext,
  WebhookNotFound,
  type WebhookRow,
  Webhooks,
  WebhookStore,
  worse
} from "./Webhooks.ts"
import { headersOf } from "./Webhooks/Signature.ts"
import { UnansweredCode, type WebhookAnswer, WebhookTransport, WebhookUnanswered } from "./WebhookTransport.ts"
import { type ClaimedWork, lanes, stillHeld, WorkQueue, WorkSignal } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

export const WebhookDeliveryStatus = Schema.Literals(["pending", "succeeded", "failed"])
export type WebhookDeliveryStatus = typeof WebhookDeliveryStatus.Type

/** Why the last attempt failed: a stable word of the API. */
export const FailureCode = Schema.Literals([...UnansweredCode.literals, "http_status", "webhook_disabled"])
export type FailureCode = typeof FailureCode.Type

export const WebhookDelivery = Schema.Struct({
  id: WebhookDeliveryId,
  webhook_id: WebhookId,
  event_id: EventId.pipe(Schema.annotateEncoded({ description: "The event's `id`, and its `webhook-id` header." })),
  event_type: EventType,
  status: WebhookDeliveryStatus.annotate({ description: "`succeeded` once an attempt was answered with a 2xx." }),
  attempt_count: Schema.Int,
  response_status: Schema.NullOr(Schema.Int).annotate({
    description: "Of the last attempt; null when no answer came."
  }),
  response_body: Schema.NullOr(Schema.String).annotate({ description: "Of the last attempt, its first 4 KiB." }),
  failure_code: Schema.NullOr(FailureCode).annotate({ description: "Why the last attempt failed." }),
  duration_ms: Schema.NullOr(Schema.Int).annotate({ description: "Of the last attempt." }),
  last_attempt_at: Schema.NullOr(Timestamp),
  next_attempt_at: Schema.NullOr(Timestamp).annotate({ description: "Null once the delivery has ended." }),
  created_at: Timestamp
}).annotate({ identifier: "WebhookDelivery", description: "One event on its way to one webhook." })
export interface WebhookDelivery extends Schema.Schema.Type<typeof WebhookDelivery> {}

/** A delivery beside what an attempt needs. */
export interface Outgoing {
  readonly delivery: WebhookDelivery
  readonly body: string
  readonly webhook: WebhookRow
}

/** How one attempt ended. */
export interface Attempt {
  readonly at: Timestamp
  readonly duration_ms: number
  readonly response_status: number | null
  readonly response_body: string | null
  readonly failure_code: FailureCode | null
}

// -------------------------------------------------------------- errors

export class WebhookDeliveryNotFound
  extends Schema.TaggedError<WebhookDeliveryNotFound>()("WebhookDeliveryNotFound", {})
{}

/** Nothing is posted to a disabled webhook. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()("WebhookDisabled", {}) {}

// ---------------------------------------------------------- transitions

/** How long an attempt may take before the lease of its work is in danger. The transport ends well before. */
export const attempt_time_max = Duration.seconds(25)

/** How long events, deliveries and attempts are kept. */
export const history_time_max = Duration.days(30)

/** What is waited after the first, second … failure: ten attempts within 75.6 hours. */
export const delays = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(14),
  Duration.hours(20),
  Duration.hours(24)
] as const

/** From which delay on times are spread by a tenth to either side. */
const first_spread = 1

/**
 * Returns when a delivery is attempted again after that many attempts, or none
 * when its schedule is over.
 *
 * `dice` is from 0 to 1. An endpoint that asks for more time gets it, up to
 * twice the usual or an hour, whichever is longer.
 */
export const nextAttempt = (
  attempt_count: number,
  now: Timestamp,
  retry_after: Duration.Duration | null,
  dice: number
): Option.Option<Timestamp> => {
  const usual = delays[attempt_count - 1]
  if (usual === undefined) return Option.none()
  const spread = attempt_count - 1 < first_spread ? 1 : 0.9 + 0.2 * dice
  // In whole milliseconds, as every store keeps times.
  const base = Duration.millis(Math.round(Duration.toMillis(usual) * spread))
  const most = Duration.max(Duration.times(usual, 2), Duration.hours(1))
  const asked = retry_after === null ? base : Duration.min(Duration.max(retry_after, base), most)
  return Option.some(DateTime.addDuration(now, asked))
}

/** Returns how long a `Retry-After` header asks to wait, or null when it says nothing that can be understood. */
export const parseRetryAfter = (header: string | null, now: Timestamp): Duration.Duration | null => {
  if (header === null) return null
  if (/^\s*[0-9]{1,9}\s*$/.test(header)) return Duration.seconds(Number(header))
  const at = DateTime.make(header)
  return Option.isNone(at) ? null : Duration.max(DateTime.distance(now, at.value), Duration.zero)
}

/** Returns the delivery after an attempt that succeeded, or failed: then with the time of the next one, if any. */
export const attempted = (
  delivery: WebhookDelivery,
  { at, ...result }: Attempt,
  next_attempt_at: Timestamp | null
): WebhookDelivery => ({
  ...delivery,
  ...result,
  attempt_count: delivery.attempt_count + 1,
  last_attempt_at: at,
  next_attempt_at,
  status: result.failure_code === null ? "succeeded" : next_attempt_at === null ? "failed" : "pending"
})

/** Returns the delivery of a webhook that was disabled before it could be attempted. */
export const abandoned = (delivery: WebhookDelivery): WebhookDelivery => ({
  ...delivery,
  status: "failed",
  failure_code: "webhook_disabled",
  next_attempt_at: null
})

/** Returns the delivery that is to be attempted now. */
export const again = (delivery: WebhookDelivery, next_attempt_at: Timestamp): WebhookDelivery => ({
  ...delivery,
  status: "pending",
  next_attempt_at
})

/** Returns text that every store can keep. */
const storable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD")

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** Returns what an answer, or the lack of one, says of an attempt. */
const resultOf = (outcome: Result.Result<WebhookAnswer, WebhookUnanswered>) =>
  Result.isSuccess(outcome)
    ? {
      response_status: outcome.success.status,
      response_body: storable(outcome.success.body),
      failure_code: isSuccess(outcome.success.status) ? null : "http_status" as const
    }
    : { response_status: null, response_body: null, failure_code: outcome.failure.failure_code }

// ---------------------------------------------------------------- port

/**
 * Port: where deliveries are kept, with their attempts.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `list` returns a webhook's deliveries from the newest to the oldest, then
 *   by id descending, at most `limit`.
 * - `load` returns a delivery beside its event's bytes and its webhook.
 * - `lock` returns the delivery, and lets no other unit of work pass the same
 *   point for it until this one ends.
 * - `update` writes everything but what the delivery is of. It is told of the
 *   attempt, if there was one, for a store that keeps a history. Two claims
 *   that both made the same attempt may tell of it.
 * - None of them finds another organization's delivery.
 */
export class WebhookDeliveryStore extends Context.Service<WebhookDeliveryStore, {
  readonly list: (
    organization_id: OrganizationId,
    webhook_id: WebhookId,
    limit: number
  ) => Effect.Effect<ReadonlyArray<WebhookDelivery>>
  readonly load: (
    organization_id: OrganizationId,
    id: WebhookDeliveryId
  ) => Effect.Effect<Option.Option<Outgoing>>
  readonly lock: (
    organization_id: OrganizationId,
    id: WebhookDeliveryId
  ) => Effect.Effect<Option.Option<WebhookDelivery>>
  readonly update: (
    organization_id: OrganizationId,
    delivery: WebhookDelivery,
    attempt: Attempt | null
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/WebhookDeliveries/WebhookDeliveryStore") {}

// ---------------------------------------------------------- operations

/** Operations on the deliveries of the current actor's webhooks. */
export class WebhookDeliveries extends Context.Service<WebhookDeliveries, {
  /** Returns the 100 most recent deliveries of a webhook. */
  readonly list: (
    webhook_id: WebhookId
  ) => Effect.Effect<ReadonlyArray<WebhookDelivery>, WebhookNotFound, CurrentActor>
  /** Makes a delivery due now, with the same event; one that is pending anyway does not change. */
  readonly retry: (
    webhook_id: WebhookId,
    id: WebhookDeliveryId
  ) => Effect.Effect<WebhookDelivery, WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled, CurrentActor>
  /** Carries out one attempt of a claimed `delivery`, and settles the claim. */
  readonly attempt: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Forgets the events, with their deliveries, that have been kept long enough, a batch at a time, and answers how many. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/WebhookDeliveries") {
  static readonly layer = Layer.effect(
    WebhookDeliveries,
    Effect.gen(function*() {
      const events = yield* EventStore
      const ids = yield* Ids
      const secrets = yield* Secrets
      const signal = yield* WorkSignal
      const store = yield* WebhookDeliveryStore
      const subscriptions = yield* Webhooks
      const transport = yield* WebhookTransport
      const unitOfWork = yield* UnitOfWork
      const webhooks = yield* WebhookStore
      const work = yield* WorkQueue

      const list = Effect.fn("WebhookDeliveries.list")(function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const webhook = yield* webhooks.find(organization_id, webhook_id)
        if (Option.isNone(webhook)) return yield* new WebhookNotFound()
        return yield* store.list(organization_id, webhook_id, limits.webhook_list_size)
      })

      const retryNow = Effect.fnUntraced(function*(webhook_id: WebhookId, id: WebhookDeliveryId) {
        const { organization_id } = yield* CurrentActor
        const webhook = yield* webhooks.lock(organization_id, webhook_id)
        if (Option.isNone(webhook)) return yield* new WebhookNotFound()
        const found = yield* store.lock(organization_id, id)
        if (Option.isNone(found) || found.value.webhook_id !== webhook_id) return yield* new WebhookDeliveryNotFound()
        if (webhook.value.webhook.status === "disabled") return yield* new WebhookDisabled()
        if (found.value.status === "pending") return found.value
        const now = yield* DateTime.now
        const delivery = again(found.value, now)
        yield* store.update(organization_id, delivery, null)
        const work_id = WorkId.make(yield* ids.uuid)
        yield* work.enqueue(organization_id, { id: work_id, kind: "delivery", lane: webhook_id, ref: id }, now)
        return delivery
      })

      const retry = Effect.fn("WebhookDeliveries.retry")((webhook_id: WebhookId, id: WebhookDeliveryId) =>
        unitOfWork.transact(retryNow(webhook_id, id)).pipe(Effect.tap(() => signal.notify))
      )

      /** Posts the event, signed now. */
      const post = Effect.fnUntraced(function*(organization_id: OrganizationId, { body, delivery, webhook }: Outgoing) {
        const { id, url } = webhook.webhook
        const secret = yield* secrets.open(secretContext(organization_id, id), webhook.sealed_secret)
        if (Option.isNone(secret)) {
          return yield* Effect.die(new Error("No key of SECRET_KEY opens the webhook's secret."))
        }
        const at = yield* DateTime.now
        const headers = yield* headersOf(Redacted.make(secret.value), { id: delivery.event_id, timestamp: at, body })
        const [duration, outcome] = yield* transport.post({ url, headers, body }).pipe(
          Effect.timeoutOrElse({
            duration: attempt_time_max,
            orElse: () => Effect.fail(new WebhookUnanswered({ failure_code: "timeout" }))
          }),
          Effect.withSpan("WebhookTransport.post", { kind: "client" }),
          Effect.result,
          // By the clock that never goes back.
          Effect.timed
        )
        const attempt: Attempt = { at, duration_ms: Math.round(Duration.toMillis(duration)), ...resultOf(outcome) }
        const counted = Metric.withAttributes(delivery_attempts, { outcome: attempt.failure_code ?? "succeeded" })
        yield* Metric.update(counted, 1)
        return { attempt, retry_after: Result.isSuccess(outcome) ? outcome.success.retry_after : null }
      })

      /** Writes what came of an attempt, all or nothing, and nothing when `settlement` finds that the claim was taken away. */
      const settle = (settlement: Effect.Effect<boolean>) =>
        settlement.pipe(
          Effect.flatMap(stillHeld),
          unitOfWork.transact,
          Effect.catchTag("Superseded", () => Effect.void)
        )

      const recover = Effect.fnUntraced(function*(organization_id: OrganizationId, id: WebhookId) {
        const row = yield* webhooks.lock(organization_id, id)
        if (Option.isSome(row)) yield* webhooks.update(organization_id, { ...row.value, ...healthy })
      })

      const succeed = (claimed: ClaimedWork, { delivery, webhook }: Outgoing, attempt: Attempt) =>
        Effect.gen(function*() {
          const { organization_id } = claimed
          // A healthy endpoint's row is left alone: all its deliveries would queue for it.
          const wasIll = webhook.consecutive_failures > 0
          if (wasIll) yield* recover(organization_id, delivery.webhook_id)
          yield* store.update(organization_id, attempted(delivery, attempt, null), attempt)
          if (wasIll) yield* work.throttle(claimed, { until: null, cap: lanes.delivery.cap })
          return yield* work.finish(claimed)
        }).pipe(settle)

      /** Slows the lane of an endpoint that keeps failing. */
      const ease = Effect.fnUntraced(function*(claimed: ClaimedWork, row: WebhookRow, now: Timestamp) {
        const pause = pauseOf(row)
        if (pause !== null) yield* work.throttle(claimed, { until: DateTime.addDuration(now, pause), cap: 1 })
      })

      const fail = (claimed: ClaimedWork, { delivery }: Outgoing, attempt: Attempt, retry_after: string | null) =>
        Effect.gen(function*() {
          const { organization_id } = claimed
          const now = yield* DateTime.now
          const locked = yield* webhooks.lock(organization_id, delivery.webhook_id)
          if (Option.isNone(locked)) return yield* work.finish(claimed)
          const row: WebhookRow = { ...locked.value, ...worse(locked.value, now) }
          const asked = parseRetryAfter(retry_after, now)
          const next = nextAttempt(delivery.attempt_count + 1, now, asked, yield* Random.next)
          const isGone = attempt.response_status === 410
          if (isGone || isHopeless(row, now) || row.webhook.status === "disabled") {
            yield* store.update(organization_id, attempted(delivery, attempt, null), attempt)
            yield* subscriptions.end(organization_id, row, attempt.at)
            return yield* work.finish(claimed)
          }
          yield* webhooks.update(organization_id, row)
          yield* store.update(organization_id, attempted(delivery, attempt, Option.getOrNull(next)), attempt)
          yield* ease(claimed, row, now)
          return yield* Option.isNone(next) ? work.finish(claimed) : work.postpone(claimed, next.value)
        }).pipe(settle)

      const attempt = Effect.fn("WebhookDeliveries.attempt")(function*(claimed: ClaimedWork) {
        const { organization_id } = claimed
        const found = yield* store.load(organization_id, WebhookDeliveryId.make(claimed.ref))
        if (Option.isNone(found) || found.value.delivery.status !== "pending") {
          return void (yield* work.finish(claimed))
        }
        const outgoing = found.value
        if (outgoing.webhook.webhook.status === "disabled") {
          const ended = abandoned(outgoing.delivery)
          return yield* settle(Effect.andThen(store.update(organization_id, ended, null), work.finish(claimed)))
        }
        const { attempt, retry_after } = yield* post(organization_id, outgoing)
        if (attempt.failure_code === null) return yield* succeed(claimed, outgoing, attempt)
        yield* fail(claimed, outgoing, attempt, retry_after)
      })

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => events.purge(DateTime.subtractDuration(now, history_time_max), 1000)
      )

      return WebhookDeliveries.of({ list, retry, attempt, purge })
    })
  )
}
