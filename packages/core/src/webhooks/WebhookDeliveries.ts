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
 * At most eight deliveries of a webhook are under way at a time. An attempt is
 * posted before anything is committed, so a worker that dies in the middle of
 * one posts it again: with the same id and bytes.
 */
import {
  Cache,
  Context,
  Data,
  DateTime,
  Duration,
  Effect,
  Layer,
  Metric,
  Option,
  Random,
  Redacted,
  Result,
  Schema,
  Struct
} from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { EventId, type OrganizationId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { delivery_attempts } from "../kernel/Metrics.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type Fresh, together } from "../work/Decide.ts"
import { type ClaimedWork, lanes } from "../work/WorkQueue.ts"
import { EventStore, EventType } from "./Events.ts"
import {
  disable,
  type Health,
  healthy,
  pauseOf,
  recordFailure,
  secretContext,
  shouldDisable,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows,
  WebhookStore
} from "./Webhooks.ts"
import { headersOf } from "./WebhookSignature.ts"
import { UnansweredCode, type WebhookAnswer, WebhookRequestFailed, WebhookTransport } from "./WebhookTransport.ts"

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

export const WebhookDeliveryRows = Changes.rows<WebhookDelivery>()("webhook_deliveries", ["id"], [
  ...Struct.keys(Struct.omit(WebhookDelivery.fields, ["id"]))
])

/** A delivery beside what an attempt needs. */
export interface Outgoing {
  readonly delivery: WebhookDeliveryRow
  /** The event's exact bytes. */
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

// ----------------------------------------------------------- decisions

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

/** The states of a delivery: each function returns what the transition sets. */
export const State = {
  /** An attempt succeeded; or failed, with the time of the next one, if any. */
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
  /** It ends without being attempted again. */
  abandon: (failure_code: FailureCode) => ({ status: "failed", failure_code, next_attempt_at: null }) as const,
  /** It is to be attempted now. */
  retry: (next_attempt_at: Timestamp) => ({ status: "pending", next_attempt_at }) as const
}

/** How many signing secrets a process keeps decrypted. */
const secrets_max = 1000

/** An encrypted signing secret. */
class Sealed extends Data.Class<{ readonly context: string; readonly sealed: string }> {}

/** Returns text that every store can keep. */
const storable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD")

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** Returns what an answer, or the lack of one, says of an attempt. */
const resultOf = (outcome: Result.Result<WebhookAnswer, WebhookRequestFailed>) =>
  Result.isSuccess(outcome)
    ? {
      response_status: outcome.success.status,
      response_body: storable(outcome.success.body),
      failure_code: isSuccess(outcome.success.status) ? null : "http_status" as const
    }
    : { response_status: null, response_body: null, failure_code: outcome.failure.failure_code }

/** Makes a delivery due now, with the same event; one that is pending anyway does not change. */
export const retry = (
  outgoing: Option.Option<Outgoing>,
  webhook: Option.Option<WebhookRow>,
  { now }: Fresh
): Result.Result<
  Changes.Decision<WebhookDelivery>,
  WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled
> => {
  if (Option.isNone(webhook)) return Result.fail(new WebhookNotFound())
  if (Option.isNone(outgoing) || outgoing.value.delivery.webhook_id !== webhook.value.id) {
    return Result.fail(new WebhookDeliveryNotFound())
  }
  if (webhook.value.status === "disabled") return Result.fail(new WebhookDisabled())
  const { version, ...delivery } = outgoing.value.delivery
  const { id, status, webhook_id } = delivery
  if (status === "pending") return Result.succeed({ answer: delivery, changes: Changes.none })
  const set = State.retry(now)
  return Result.succeed({
    answer: { ...delivery, ...set },
    changes: Changes.all(
      WebhookDeliveryRows.update({ id, version }, set),
      Changes.enqueue({ kind: "webhook_delivery", lane: webhook_id, ref: id, due_at: now }),
      WebhookRows.expect(webhook.value)
    )
  })
}

const finish = (claimed: ClaimedWork) => Changes.settle({ claimed, outcome: "finish" })

/** Returns whether an attempt's result is still written: also when the webhook was disabled while its endpoint answered. */
const takesResult = ({ failure_code, status }: WebhookDelivery): boolean =>
  status === "pending" || failure_code === "webhook_disabled"

/** An endpoint took the event. A healthy one's row is only required to be so: all its deliveries would contend for it. */
const succeeded = (claimed: ClaimedWork, { delivery, webhook }: Outgoing, attempt: Attempt): Changes.Changes => {
  const wasFailing = webhook.consecutive_failures > 0
  const { cap } = lanes.webhook_delivery
  return Changes.all(
    WebhookDeliveryRows.update(delivery, State.attempt(delivery, attempt, null)),
    wasFailing ? WebhookRows.update(webhook, healthy) : WebhookRows.expect(webhook),
    wasFailing
      ? Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until: null, cap })
      : Changes.none,
    finish(claimed)
  )
}

/** Slows the lane of an endpoint that keeps failing. */
const applyBackoff = ({ id: lane }: WebhookRow, health: Health, now: Timestamp): Changes.Changes => {
  const pause = pauseOf(health)
  return pause === null
    ? Changes.none
    : Changes.throttle({ kind: "webhook_delivery", lane, until: DateTime.addDuration(now, pause), cap: 1 })
}

/** An endpoint did not take the event: it is tried again, unless the schedule or the webhook is over. */
const failed = (
  claimed: ClaimedWork,
  { delivery, webhook }: Outgoing,
  attempt: Attempt,
  retry_after: string | null,
  { dice, now }: { readonly dice: number; readonly now: Timestamp }
): Changes.Changes => {
  const health = recordFailure(webhook, now)
  const isOver = attempt.response_status === 410 || shouldDisable(health, now) || webhook.status === "disabled"
  const next = isOver
    ? Option.none()
    : nextAttempt(delivery.attempt_count + 1, now, parseRetryAfter(retry_after, now), dice)
  return Changes.all(
    WebhookDeliveryRows.update(delivery, State.attempt(delivery, attempt, Option.getOrNull(next))),
    isOver
      ? disable(webhook, health, attempt.at).changes
      : Changes.all(WebhookRows.update(webhook, health), applyBackoff(webhook, health, now)),
    Option.isNone(next)
      ? finish(claimed)
      : Changes.settle({ claimed, outcome: "postpone", due_at: next.value })
  )
}

// ---------------------------------------------------------------- port

/**
 * Port: where deliveries are read.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `list` returns a webhook's deliveries from the newest to the oldest, then
 *   by id descending, at most `limit`.
 * - `load` returns a delivery beside its event's bytes and its webhook.
 * - Neither finds another organization's delivery.
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
  /** Carries out one attempt of a claimed `delivery`, and settles the claim. `onSuccess` runs in between where the endpoint took the event. */
  readonly attempt: (claimed: ClaimedWork, onSuccess?: Effect.Effect<void>) => Effect.Effect<void>
  /** Ends a delivery that cannot be attempted because of a defect of ours, and settles the claim. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Forgets the events, with their deliveries, that have been kept long enough, a batch at a time, and answers how many. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/WebhookDeliveries") {
  static readonly layer = Layer.effect(
    WebhookDeliveries,
    Effect.gen(function*() {
      const { decide, settle } = yield* Decide
      const events = yield* EventStore
      const secrets = yield* Secrets
      const store = yield* WebhookDeliveryStore
      const transport = yield* WebhookTransport
      const webhooks = yield* WebhookStore

      const list = Effect.fn("WebhookDeliveries.list")(function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const { deliveries, webhook } = yield* Effect.all({
          webhook: webhooks.find(organization_id, webhook_id),
          deliveries: store.list(organization_id, webhook_id, limits.webhook_list_size)
        }, together)
        yield* Effect.fromOption(webhook, () => new WebhookNotFound())
        return deliveries
      })

      const retryOne = Effect.fn("WebhookDeliveries.retry")(function*(webhook_id: WebhookId, id: WebhookDeliveryId) {
        const { organization_id } = yield* CurrentActor
        return yield* decide(organization_id, {
          load: Effect.all({
            outgoing: store.load(organization_id, id),
            webhook: webhooks.find(organization_id, webhook_id)
          }, together),
          decide: ({ outgoing, webhook }, fresh) => retry(outgoing, webhook, fresh)
        })
      })

      /** Decrypted once for as long as it is used, and not for each delivery. */
      const secretOf = yield* Cache.make({
        capacity: secrets_max,
        lookup: ({ context, sealed }: Sealed) =>
          Effect.flatMap(secrets.open(context, sealed), (secret) =>
            Option.isNone(secret)
              ? Effect.fail(new Error("No key of SECRET_KEY opens the webhook's secret."))
              : Effect.succeed(Redacted.make(secret.value)))
      })

      /** Posts the event, signed now. */
      const post = Effect.fnUntraced(function*(organization_id: OrganizationId, { body, delivery, webhook }: Outgoing) {
        const { id, sealed_secret: sealed, url } = webhook
        const secret = yield* Effect.orDie(
          Cache.get(secretOf, new Sealed({ context: secretContext(organization_id, id), sealed }))
        )
        const at = yield* DateTime.now
        const headers = yield* headersOf(secret, { id: delivery.event_id, timestamp: at, body })
        const [duration, outcome] = yield* transport.post({ url, headers, body }).pipe(
          Effect.timeoutOrElse({
            duration: attempt_time_max,
            orElse: () => Effect.fail(new WebhookRequestFailed({ failure_code: "timeout" }))
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

      const find = ({ organization_id, ref }: ClaimedWork) => store.load(organization_id, WebhookDeliveryId.make(ref))

      /** Settles the claim with what follows for the delivery, if that has not ended otherwise. */
      const settleDelivery = (
        claimed: ClaimedWork,
        changesOf: (outgoing: Outgoing, fresh: Fresh) => Changes.Changes,
        load = find(claimed)
      ) =>
        settle(claimed, {
          load,
          decide: (found, fresh) => ({
            answer: undefined,
            changes: Option.match(Option.filter(found, ({ delivery }) => takesResult(delivery)), {
              onNone: () => finish(claimed),
              onSome: (outgoing) => changesOf(outgoing, fresh)
            })
          })
        })

      const end = (claimed: ClaimedWork, failure_code: FailureCode) =>
        settleDelivery(
          claimed,
          ({ delivery }) =>
            Changes.all(WebhookDeliveryRows.update(delivery, State.abandon(failure_code)), finish(claimed))
        )

      const attempt = Effect.fn("WebhookDeliveries.attempt")(function*(
        claimed: ClaimedWork,
        onSuccess: Effect.Effect<void> = Effect.void
      ) {
        const found = yield* find(claimed)
        const outgoing = Option.getOrNull(found)
        if (outgoing === null || outgoing.delivery.status !== "pending" || outgoing.webhook.status === "disabled") {
          return yield* end(claimed, "webhook_disabled")
        }
        const { attempt, retry_after } = yield* post(claimed.organization_id, outgoing)
        if (attempt.failure_code === null) yield* onSuccess
        const dice = yield* Random.next
        // What was loaded for the attempt is loaded again only where it has changed meanwhile.
        const known = [found]
        yield* settleDelivery(
          claimed,
          (now_outgoing, { now }) =>
            attempt.failure_code === null
              ? succeeded(claimed, now_outgoing, attempt)
              : failed(claimed, now_outgoing, attempt, retry_after, { dice, now }),
          Effect.suspend(() => {
            const first = attempt.failure_code === null ? known.pop() : undefined
            return first === undefined ? find(claimed) : Effect.succeed(first)
          })
        )
      })

      const abandon = Effect.fn("WebhookDeliveries.abandon")((claimed: ClaimedWork) => end(claimed, "protocol_error"))

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => events.purge(DateTime.subtractDuration(now, history_time_max), 1000)
      )

      return WebhookDeliveries.of({ list, retry: retryOne, attempt, abandon, purge })
    })
  )
}
