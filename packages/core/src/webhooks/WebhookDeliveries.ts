/**
 * Webhook deliveries: one event on its way to one webhook (contract §14).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | pending | the endpoint responds with a 2xx | succeeded |
 * | pending | an attempt fails, and the schedule has another | pending |
 * | pending | the tenth attempt fails, the webhook is disabled | failed |
 * | succeeded, failed | retry | pending |
 *
 * At most eight deliveries of a webhook are attempted at a time, by all workers together, and fewer
 * while its endpoint takes longer than a second. An attempt is made before anything is committed. If
 * a worker dies during one, another worker makes it again, with the same ID and bytes.
 */
import { Context, Effect, Layer, Option, Random, Result, Schema, Struct } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import { type OrganizationId, WebhookDeliveryId, type WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { purgeOlderThan } from "../kernel/Purges.ts"
import type { SecretUnreadable } from "../kernel/Secrets.ts"
import { utf8Bytes } from "../kernel/Text.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import { StorageUse } from "../work/StorageUse.ts"
import type { Claim, ClaimedWork } from "../work/WorkQueue.ts"
import * as Events from "./Events.ts"
import { type Attempt, type HostBusy, WebhookPosts } from "./WebhookAttempt.ts"
import {
  type ClaimedDelivery,
  DeliveryState,
  type FailureCode,
  newDelivery,
  type Outgoing,
  type WebhookDelivery,
  WebhookDeliveryRows
} from "./WebhookDelivery.ts"
import * as Outcome from "./WebhookOutcome.ts"
import { WebhookDisabled, WebhookNotFound, type WebhookRow, WebhookRows, WebhookStore } from "./Webhooks.ts"

export * from "./WebhookDelivery.ts"
export type { Attempt }
export { delays, nextAttempt } from "./WebhookSchedule.ts"

// -------------------------------------------------------------- errors

export class WebhookDeliveryNotFound
  extends Schema.TaggedError<WebhookDeliveryNotFound>()("WebhookDeliveryNotFound", {})
{}

// ----------------------------------------------------------- decisions

/** Returns a delivery of a webhook as it was loaded. */
const foundDelivery = (
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
  { now }: DecisionContext
): Result.Result<
  Changes.Decision<WebhookDelivery>,
  WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled
> =>
  Result.flatMap(foundDelivery(outgoing, webhook), ({ loaded, webhook }) => {
    if (webhook.status === "disabled") return Result.fail(new WebhookDisabled())
    const { version, ...delivery } = loaded
    const { id, status, webhook_id } = delivery
    if (status === "pending") return Result.succeed({ result: delivery, changes: Changes.none })
    const set = DeliveryState.retry(now)
    return Result.succeed({
      result: { ...delivery, ...set },
      changes: Changes.all(
        WebhookDeliveryRows.update({ id, version }, set),
        Changes.enqueue({ kind: "webhook_delivery", lane: webhook_id, ref: id, due_at: now }),
        WebhookRows.expect(webhook)
      )
    })
  })

/** Raises a test event for one webhook. No webhook can subscribe to such an event. */
const test = (
  webhook: WebhookRow,
  context: DecisionContext
): Result.Result<Changes.Decision<WebhookDelivery>, WebhookDisabled> => {
  const { id: lane, status } = webhook
  if (status === "disabled") return Result.fail(new WebhookDisabled())
  const event = Events.make("webhook.test", { webhook_id: lane }, context)
  const delivery = newDelivery(event, lane)
  return Result.succeed({
    result: delivery,
    changes: Changes.all(
      Changes.raise(event),
      WebhookDeliveryRows.insert(delivery),
      Changes.enqueue({ kind: "webhook_delivery", lane, ref: delivery.id, due_at: context.now }),
      WebhookRows.expect(webhook)
    )
  })
}

/** The storage of a delivery and its share of an event in bytes, including their index entries. */
const delivery_bytes = 1000

/** Returns whether an attempt's result is written. It still is if the webhook was disabled during the attempt. */
const acceptsResult = ({ failure_code, status }: WebhookDelivery): boolean =>
  status === "pending" || failure_code === "webhook_disabled"

// ---------------------------------------------------------------- port

/**
 * Port: reads deliveries.
 *
 * **Contract** (checked by `conformance/Ports/WebhookDeliveries.ts`)
 *
 * - `list` returns a webhook's deliveries from the newest to the oldest, then
 *   by ID descending, at most `limit`.
 * - `load` returns a delivery with its event's bytes, without and with the resource, and its webhook.
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

/** The decision that fails a delivery without a further attempt. */
const failDelivery = (claimed: ClaimedWork, { delivery }: Outgoing, failure_code: FailureCode) => ({
  result: null,
  changes: Changes.all(
    WebhookDeliveryRows.update(delivery, DeliveryState.abandon(failure_code)),
    Changes.finish(claimed)
  )
})

/** Makes the functions that settle the claim of a delivery. */
const makeSettlements = Effect.gen(function*() {
  const { settle } = yield* Decide
  const store = yield* WebhookDeliveryStore

  const find = ({ organization_id, ref }: ClaimedWork) => store.load(organization_id, WebhookDeliveryId.make(ref))

  /** Settles the claim with the changes that follow for the delivery, or with none if it has already ended. */
  const settleDelivery = (
    claimed: ClaimedWork,
    decide: (outgoing: Outgoing, context: DecisionContext) => Changes.Decision<Outcome.Disabling>,
    initial = find(claimed)
  ) =>
    settle(claimed, {
      initial,
      load: find(claimed),
      decide: (found, context) =>
        Option.match(Option.filter(found, ({ delivery }) => acceptsResult(delivery)), {
          onNone: () => ({ result: null, changes: Changes.finish(claimed) }),
          onSome: (outgoing) => decide(outgoing, context)
        })
    })

  /**
   * Settles a claim that was loaded without anything to attempt. A claim that began before a manual retry loads the
   * delivery as it was before, so the current one decides.
   */
  const settleUnattempted = (claimed: ClaimedWork) =>
    settleDelivery(claimed, (current, { now }) =>
      current.webhook.status === "disabled"
        ? failDelivery(claimed, current, "webhook_disabled")
        : {
          result: null,
          changes: current.delivery.status === "pending"
            ? Outcome.postAgain(claimed, now)
            : Changes.finish(claimed)
        }).pipe(Effect.asVoid)

  /** Settles a claim whose event was not posted. It is due later. */
  const settleUnposted = Effect.fnUntraced(
    function*(claimed: ClaimedWork, webhook: WebhookRow, { _tag }: HostBusy | SecretUnreadable) {
      if (_tag === "SecretUnreadable") yield* Outcome.reportUnreadable(webhook)
      const random = yield* Random.next
      yield* settleDelivery(claimed, (current, { now }) => ({
        result: null,
        changes: _tag === "SecretUnreadable"
          ? Outcome.postponeUnreadable(claimed, current.webhook, now)
          : Outcome.yieldHost(claimed, now, random)
      }))
    }
  )

  return { find, settleDelivery, settleUnattempted, settleUnposted }
})

/** Makes the function that makes one attempt of a claimed delivery, and settles the claim. */
const makeAttempt = Effect.gen(function*() {
  const { find, settleDelivery, settleUnattempted, settleUnposted } = yield* makeSettlements
  const { post } = yield* WebhookPosts
  const use = yield* StorageUse

  /** Counts the stored bytes of an attempt. If the budget is used up, the endpoint's response is not stored. */
  const withinBudget = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { delivery: { attempt_count, response_body: before } }: Outgoing,
    attempt: Attempt
  ) {
    const hasSpace = yield* Effect.isSuccess(use.require(organization_id))
    const response_body = hasSpace ? attempt.response_body : null
    const bytes = (attempt_count === 0 ? delivery_bytes : 0) +
      Math.max(0, utf8Bytes(response_body ?? "") - utf8Bytes(before ?? ""))
    yield* use.count(organization_id, [{ bytes, age_max: Changes.event_age_max }])
    return { ...attempt, response_body }
  })

  return traced("WebhookDeliveries.attempt")(function*({ claimed, outgoing: known }: ClaimedDelivery) {
    const found = known === null ? yield* find(claimed) : Option.some(known)
    const outgoing = Option.getOrNull(found)
    if (outgoing === null || outgoing.delivery.status !== "pending" || outgoing.webhook.status === "disabled") {
      return yield* settleUnattempted(claimed)
    }
    const { delivery: { event_id }, webhook } = outgoing
    const { organization_id } = claimed
    const body = Events.bodyFor(webhook, outgoing)
    const posted = yield* Effect.result(post({ organization_id, webhook, event_id, body }))
    if (Result.isFailure(posted)) return yield* settleUnposted(claimed, webhook, posted.failure)
    const { attempt: whole, retry_after } = posted.success
    const attempt = yield* withinBudget(organization_id, outgoing, whole)
    const after = { before: outgoing, posted: { attempt, retry_after }, random: yield* Random.next }
    const disabling = yield* settleDelivery(
      claimed,
      (current, context) => Outcome.attempted(claimed, current, after, context),
      // After a success, what was loaded before the attempt is loaded again only after a conflict.
      attempt.failure_code === null ? Effect.succeed(found) : undefined
    )
    if (disabling !== null) yield* Outcome.reportDisabled(webhook, disabling)
  })
})

/** Operations on the deliveries of the current actor's webhooks. */
export class WebhookDeliveries extends Context.Service<WebhookDeliveries, {
  /** Returns the 100 most recent deliveries of a webhook. */
  readonly list: (
    webhook_id: WebhookId
  ) => Effect.Effect<ReadonlyArray<WebhookDelivery>, WebhookNotFound, CurrentActor>
  /** Makes a delivery due now, with the same event. A pending delivery does not change. */
  readonly retry: Write<
    [webhook_id: WebhookId, id: WebhookDeliveryId],
    WebhookDelivery,
    WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled
  >
  /** Posts one signed `webhook.test` to a webhook. Returns its delivery, which is pending. */
  readonly test: Write<[webhook_id: WebhookId], WebhookDelivery, WebhookNotFound | WebhookDisabled>
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
      const { runAudited } = yield* Decide
      const { settleDelivery } = yield* makeSettlements
      const events = yield* Events.EventStore
      const store = yield* WebhookDeliveryStore
      const webhooks = yield* WebhookStore

      const list = operation("webhook_deliveries.list")(function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const { deliveries, webhook } = yield* Effect.all({
          webhook: webhooks.find(organization_id, webhook_id),
          deliveries: store.list(organization_id, webhook_id, limits.webhook_list_size)
        }, concurrently)
        yield* Effect.fromOption(webhook, () => new WebhookNotFound())
        return deliveries
      })

      const retryDelivery = operation("webhook_deliveries.retry")(
        function*<Out>(webhook_id: WebhookId, id: WebhookDeliveryId, respond?: Respond<WebhookDelivery, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("webhook_deliveries.retry", {
            load: Effect.all({
              outgoing: store.load(organization_id, id),
              webhook: webhooks.find(organization_id, webhook_id)
            }, concurrently),
            decide: ({ outgoing, webhook }, context) => retry(outgoing, webhook, context),
            current: ({ outgoing, webhook }) =>
              Result.map(foundDelivery(outgoing, webhook), ({ loaded }) => Struct.omit(loaded, ["version"]))
          }, respond)
        }
      )

      const testWebhook = operation("webhooks.test")(
        function*<Out>(webhook_id: WebhookId, respond?: Respond<WebhookDelivery, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("webhooks.test", {
            load: webhooks.find(organization_id, webhook_id),
            decide: (webhook, context) =>
              Result.flatMap(Result.fromOption(webhook, () => new WebhookNotFound()), (row) => test(row, context))
          }, respond)
        }
      )

      const abandon = traced("WebhookDeliveries.abandon")(function*(claimed: ClaimedWork) {
        yield* settleDelivery(claimed, (current) => failDelivery(claimed, current, "protocol_error"))
      })

      return WebhookDeliveries.of({
        list,
        retry: retryDelivery,
        test: testWebhook,
        attempt: yield* makeAttempt,
        abandon,
        purge: purgeOlderThan(Changes.event_age_max, events.purge, 1000)
      })
    })
  )
}
