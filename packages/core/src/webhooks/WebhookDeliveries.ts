/**
 * Webhook deliveries: one event on its way to one webhook (contract §14).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | pending | an attempt is answered with a 2xx | succeeded |
 * | pending | an attempt fails, and the schedule has another | pending |
 * | pending | the tenth attempt fails, the webhook is disabled | failed |
 * | succeeded, failed | retry | pending |
 *
 * At most eight deliveries of a webhook are attempted at a time, by all workers together, and fewer
 * while its endpoint takes longer than a second. An attempt is made before anything is committed. If
 * a worker dies during one, another worker makes it again, with the same id and bytes.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option, Random, Result, Schema, Struct } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { EventId, type OrganizationId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { webhooks_disabled } from "../kernel/Metrics.ts"
import { operation } from "../kernel/Operations.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type Fresh, together } from "../work/Decide.ts"
import { StorageUse } from "../work/StorageUse.ts"
import { type Claim, type ClaimedWork, lanes } from "../work/WorkQueue.ts"
import { EventStore, EventType } from "./Events.ts"
import { type Attempt, makePost, parseRetryAfter } from "./WebhookAttempt.ts"
import {
  disable,
  type Health,
  healthy,
  pauseOf,
  recordFailure,
  shouldDisable,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows,
  WebhookStore
} from "./Webhooks.ts"
import { nextAttempt } from "./WebhookSchedule.ts"
import { UnansweredCode } from "./WebhookTransport.ts"

export type { Attempt }
export { delays, nextAttempt } from "./WebhookSchedule.ts"

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

export interface WebhookDeliveryRow extends WebhookDelivery {
  readonly version: Changes.Version
}

export const WebhookDeliveryRows = Changes.rows<WebhookDelivery>()({
  name: "webhook_deliveries",
  key: { id: "uuid" },
  columns: {
    webhook_id: "uuid",
    event_id: "uuid",
    event_type: "text",
    status: "text",
    attempt_count: "integer",
    response_status: "integer",
    response_body: "text",
    failure_code: "text",
    duration_ms: "integer",
    last_attempt_at: "timestamptz",
    next_attempt_at: "timestamptz",
    created_at: "timestamptz"
  },
  unique: null,
  activity: null
})

/** A delivery with what an attempt needs. */
export interface Outgoing {
  readonly delivery: WebhookDeliveryRow
  /** The event's exact bytes. */
  readonly body: string
  readonly webhook: WebhookRow
}

/** Claimed work, with its delivery; null where that is not loaded yet, or does not exist. */
export interface ClaimedDelivery {
  readonly claimed: ClaimedWork
  readonly outgoing: Outgoing | null
}

// -------------------------------------------------------------- errors

export class WebhookDeliveryNotFound
  extends Schema.TaggedError<WebhookDeliveryNotFound>()("WebhookDeliveryNotFound", {})
{}

/** Nothing is posted to a disabled webhook. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()("WebhookDisabled", {}) {}

// ----------------------------------------------------------- decisions

/** How long events and deliveries are kept. */
export const history_time_max = Duration.days(30)

/** The states of a delivery: each function returns what the transition sets. */
export const State = {
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

/** Returns a delivery of a webhook as it was loaded. */
const found = (
  outgoing: Option.Option<Outgoing>,
  webhook: Option.Option<WebhookRow>
): Result.Result<
  { readonly loaded: Outgoing["delivery"]; readonly webhook: WebhookRow },
  WebhookNotFound | WebhookDeliveryNotFound
> => {
  if (Option.isNone(webhook)) return Result.fail(new WebhookNotFound())
  if (Option.isNone(outgoing) || outgoing.value.delivery.webhook_id !== webhook.value.id) {
    return Result.fail(new WebhookDeliveryNotFound())
  }
  return Result.succeed({ loaded: outgoing.value.delivery, webhook: webhook.value })
}

/** Makes a delivery due now, with the same event. A pending delivery does not change. */
export const retry = (
  outgoing: Option.Option<Outgoing>,
  webhook: Option.Option<WebhookRow>,
  { now }: Fresh
): Result.Result<
  Changes.Decision<WebhookDelivery>,
  WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled
> =>
  Result.flatMap(found(outgoing, webhook), ({ loaded, webhook }) => {
    if (webhook.status === "disabled") return Result.fail(new WebhookDisabled())
    const { version, ...delivery } = loaded
    const { id, status, webhook_id } = delivery
    if (status === "pending") return Result.succeed({ answer: delivery, changes: Changes.none })
    const set = State.retry(now)
    return Result.succeed({
      answer: { ...delivery, ...set },
      changes: Changes.all(
        WebhookDeliveryRows.update({ id, version }, set),
        Changes.enqueue({ kind: "webhook_delivery", lane: webhook_id, ref: id, due_at: now }),
        WebhookRows.expect(webhook)
      )
    })
  })

/** What a delivery and its share of an event take, with their keys in indexes, in bytes. */
const delivery_bytes = 1000

const finish = (claimed: ClaimedWork) => Changes.settle({ claimed, outcome: "finish" })

/** Returns whether an attempt's result is written. It still is if the webhook was disabled during the attempt. */
const acceptsResult = ({ failure_code, status }: WebhookDelivery): boolean =>
  status === "pending" || failure_code === "webhook_disabled"

/**
 * Returns how many attempts at once an endpoint gets that took so long to answer: eight, divided by the seconds.
 *
 * So an endpoint that takes seconds leaves the organization's places in the workers to its other webhooks.
 */
export const attemptsAtOnce = ({ duration_ms }: Pick<Attempt, "duration_ms">): number =>
  Math.max(1, Math.floor(lanes.webhook_delivery.cap / Math.max(1, duration_ms / 1000)))

/**
 * The changes after a 2xx.
 *
 * The row of a healthy webhook is only expected, not updated: otherwise all
 * its deliveries would conflict with each other.
 */
const succeeded = (
  claimed: ClaimedWork,
  { delivery, webhook }: Outgoing,
  attempt: Attempt
): Changes.Changes => {
  const wasFailing = webhook.consecutive_failures > 0
  const cap = attemptsAtOnce(attempt)
  return Changes.all(
    WebhookDeliveryRows.update(delivery, State.attempt(delivery, attempt, null)),
    wasFailing ? WebhookRows.update(webhook, healthy) : WebhookRows.expect(webhook),
    wasFailing || cap !== claimed.lane_cap
      ? Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until: null, cap })
      : Changes.none,
    finish(claimed)
  )
}

/** Pauses the lane of a webhook whose endpoint keeps failing, and limits it to one attempt at a time. */
const applyBackoff = ({ id: lane }: WebhookRow, health: Health, now: Timestamp): Changes.Changes => {
  const pause = pauseOf(health)
  return pause === null
    ? Changes.none
    : Changes.throttle({ kind: "webhook_delivery", lane, until: DateTime.addDuration(now, pause), cap: 1 })
}

/** For how long a webhook waits whose signing secret no key decrypts. */
const unreadable_pause = Duration.minutes(1)

/** Keeps a delivery pending that could not be signed. One delivery of the webhook is tried again each minute. */
const hold = (claimed: ClaimedWork, { id: lane }: WebhookRow, now: Timestamp): Changes.Changes => {
  const until = DateTime.addDuration(now, unreadable_pause)
  return Changes.all(
    Changes.throttle({ kind: "webhook_delivery", lane, until, cap: 1 }),
    Changes.settle({ claimed, outcome: "postpone", due_at: until })
  )
}

const reportUnreadable = ({ id: webhook_id }: WebhookRow) =>
  Effect.annotateLogs(
    Effect.logError("No key of SECRET_KEY decrypts the signing secret of a webhook: its deliveries wait"),
    { webhook_id }
  )

/** Makes a delivery due in 5 to 15 seconds whose host has as many attempts in progress as it gets. */
const yieldHost = (claimed: ClaimedWork, now: Timestamp, random: number): Changes.Changes =>
  Changes.settle({ claimed, outcome: "postpone", due_at: DateTime.add(now, { seconds: 5 + Math.floor(random * 10) }) })

/** Why a failed attempt disables its webhook: the endpoint is gone, or has failed for too long; null if it does not. */
type Disabling = "gone" | "failing" | null

const disablingOf = ({ response_status }: Attempt, { status }: WebhookRow, health: Health, now: Timestamp): Disabling =>
  status === "disabled" ? null : response_status === 410 ? "gone" : shouldDisable(health, now) ? "failing" : null

/** The changes after a failed attempt: another attempt follows, unless it was the last or the webhook is disabled. */
const failed = (
  claimed: ClaimedWork,
  { delivery, webhook }: Outgoing,
  attempt: Attempt,
  retry_after: string | null,
  { now, random }: { readonly now: Timestamp; readonly random: number }
): Changes.Decision<Disabling> => {
  const health = recordFailure(webhook, now)
  const disabling = disablingOf(attempt, webhook, health, now)
  const isOver = disabling !== null || webhook.status === "disabled"
  const next = isOver
    ? Option.none()
    : nextAttempt(delivery.attempt_count + 1, now, parseRetryAfter(retry_after, now), random)
  const changes = Changes.all(
    WebhookDeliveryRows.update(delivery, State.attempt(delivery, attempt, Option.getOrNull(next))),
    isOver
      ? disable(webhook, health, attempt.at).changes
      : Changes.all(WebhookRows.update(webhook, health), applyBackoff(webhook, health, now)),
    Option.isNone(next)
      ? finish(claimed)
      : Changes.settle({ claimed, outcome: "postpone", due_at: next.value })
  )
  return { answer: disabling, changes }
}

/** Tells the operator of a webhook that was disabled because of its endpoint. */
const reportDisabled = ({ id: webhook_id }: WebhookRow, reason: Exclude<Disabling, null>) =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(webhooks_disabled, { reason }), 1),
    Effect.annotateLogs(Effect.logWarning("Webhook disabled: its endpoint is gone or has failed for five days"), {
      webhook_id,
      reason
    })
  )

// ---------------------------------------------------------------- port

/**
 * Port: reads deliveries.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `list` returns a webhook's deliveries from the newest to the oldest, then
 *   by id descending, at most `limit`.
 * - `load` returns a delivery with its event's bytes and its webhook.
 * - Neither finds another organization's delivery.
 * - `claim` claims work as `WorkQueue.claim` does, and loads the deliveries in the
 *   same step. It may return none for a delivery that was just added.
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
  readonly claim: (claim: Claim) => Effect.Effect<ReadonlyArray<ClaimedDelivery>>
}>()("@messaging-crm/core/WebhookDeliveries/WebhookDeliveryStore") {}

// ---------------------------------------------------------- operations

/** Operations on the deliveries of the current actor's webhooks. */
export class WebhookDeliveries extends Context.Service<WebhookDeliveries, {
  /** Returns the 100 most recent deliveries of a webhook. */
  readonly list: (
    webhook_id: WebhookId
  ) => Effect.Effect<ReadonlyArray<WebhookDelivery>, WebhookNotFound, CurrentActor>
  /** Makes a delivery due now, with the same event. A pending delivery does not change. */
  readonly retry: (
    webhook_id: WebhookId,
    id: WebhookDeliveryId
  ) => Effect.Effect<
    WebhookDelivery,
    WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled | ConcurrentChanges,
    CurrentActor
  >
  /** Makes one attempt of a claimed delivery, and settles the claim. */
  readonly attempt: (delivery: ClaimedDelivery) => Effect.Effect<void>
  /** Fails a delivery that cannot be attempted because of a defect, and settles the claim. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Deletes one batch of events older than 30 days, with their deliveries, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/WebhookDeliveries") {
  static readonly layer = Layer.effect(
    WebhookDeliveries,
    Effect.gen(function*() {
      const { act, settle } = yield* Decide
      const events = yield* EventStore
      const post = yield* makePost
      const store = yield* WebhookDeliveryStore
      const use = yield* StorageUse
      const webhooks = yield* WebhookStore

      const list = operation("webhook_deliveries.list")(function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const { deliveries, webhook } = yield* Effect.all({
          webhook: webhooks.find(organization_id, webhook_id),
          deliveries: store.list(organization_id, webhook_id, limits.webhook_list_size)
        }, together)
        yield* Effect.fromOption(webhook, () => new WebhookNotFound())
        return deliveries
      })

      const retryDelivery = operation("webhook_deliveries.retry")(
        function*(webhook_id: WebhookId, id: WebhookDeliveryId) {
          const { organization_id } = yield* CurrentActor
          return yield* act("webhook_deliveries.retry", {
            load: Effect.all({
              outgoing: store.load(organization_id, id),
              webhook: webhooks.find(organization_id, webhook_id)
            }, together),
            decide: ({ outgoing, webhook }, fresh) => retry(outgoing, webhook, fresh),
            current: ({ outgoing, webhook }) =>
              Result.map(found(outgoing, webhook), ({ loaded }) => Struct.omit(loaded, ["version"]))
          })
        }
      )

      const find = ({ organization_id, ref }: ClaimedWork) => store.load(organization_id, WebhookDeliveryId.make(ref))

      /** Settles the claim with the changes that follow for the delivery, or with none if it has already ended. */
      const settleDelivery = (
        claimed: ClaimedWork,
        decide: (outgoing: Outgoing, fresh: Fresh) => Changes.Decision<Disabling>,
        load = find(claimed)
      ) =>
        settle(claimed, {
          load,
          decide: (found, fresh) =>
            Option.match(Option.filter(found, ({ delivery }) => acceptsResult(delivery)), {
              onNone: () => ({ answer: null, changes: finish(claimed) }),
              onSome: (outgoing) => decide(outgoing, fresh)
            })
        })

      const failDelivery = (claimed: ClaimedWork, failure_code: FailureCode) =>
        settleDelivery(
          claimed,
          ({ delivery }) => ({
            answer: null,
            changes: Changes.all(WebhookDeliveryRows.update(delivery, State.abandon(failure_code)), finish(claimed))
          })
        ).pipe(Effect.asVoid)

      /** Counts what is stored of an attempt. Where the budget is used up, that is no answer of the endpoint. */
      const withinBudget = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        { attempt_count, response_body: before }: WebhookDelivery,
        attempt: Attempt
      ) {
        const hasSpace = yield* Effect.isSuccess(use.require(organization_id))
        const response_body = hasSpace ? attempt.response_body : null
        const bytes = (attempt_count === 0 ? delivery_bytes : 0) +
          Math.max(0, (response_body?.length ?? 0) - (before?.length ?? 0))
        yield* use.count(organization_id, bytes, history_time_max)
        return { ...attempt, response_body }
      })

      const attempt = traced("WebhookDeliveries.attempt")(function*({ claimed, outgoing: known }: ClaimedDelivery) {
        const found = known === null ? yield* find(claimed) : Option.some(known)
        const outgoing = Option.getOrNull(found)
        if (outgoing === null || outgoing.delivery.status !== "pending" || outgoing.webhook.status === "disabled") {
          return yield* failDelivery(claimed, "webhook_disabled")
        }
        const { body, delivery: { event_id }, webhook } = outgoing
        const { organization_id } = claimed
        const posted = yield* Effect.result(post({ organization_id, webhook, event_id, body }))
        if (Result.isFailure(posted)) {
          const isUnreadable = posted.failure._tag === "SecretUnreadable"
          if (isUnreadable) yield* reportUnreadable(webhook)
          const random = yield* Random.next
          yield* settleDelivery(claimed, (_, { now }) => ({
            answer: null,
            changes: isUnreadable ? hold(claimed, webhook, now) : yieldHost(claimed, now, random)
          }))
          return
        }
        const { attempt: whole, retry_after } = posted.success
        const attempt = yield* withinBudget(organization_id, outgoing.delivery, whole)
        const random = yield* Random.next
        // After a success the rows loaded before the attempt are used first, and loaded again only after a conflict.
        const loaded = [found]
        const disabling = yield* settleDelivery(
          claimed,
          (current, { now }) =>
            attempt.failure_code === null
              ? { answer: null, changes: succeeded(claimed, current, attempt) }
              : failed(claimed, current, attempt, retry_after, { now, random }),
          Effect.suspend(() => {
            const first = attempt.failure_code === null ? loaded.pop() : undefined
            return first === undefined ? find(claimed) : Effect.succeed(first)
          })
        )
        if (disabling !== null) yield* reportDisabled(webhook, disabling)
      })

      const abandon = Effect.fn("WebhookDeliveries.abandon")((claimed: ClaimedWork) =>
        failDelivery(claimed, "protocol_error")
      )

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => events.purge(DateTime.subtractDuration(now, history_time_max), 1000)
      )

      return WebhookDeliveries.of({ list, retry: retryDelivery, attempt, abandon, purge })
    })
  )
}
