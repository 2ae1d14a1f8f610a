/**
 * Webhook deliveries: one event on its way to one webhook (contract §14).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | pending | the endpoint responds with a 2xx | succeeded |
 * | pending | an attempt fails, and the schedule has another | pending |
 * | pending | the tenth attempt fails, the webhook is disabled | failed |
 * | pending, succeeded, failed | retry | pending |
 *
 * At most 16 deliveries of a webhook are attempted at a time, by all workers together, and fewer
 * while its endpoint takes longer than a second. `WebhookDispatch.ts` makes the attempts.
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import * as Events from "../events/Events.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { OrganizationId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { WebhookDisabled, WebhookNotFound, type WebhookRow, WebhookRows } from "../webhooks/Webhook.ts"
import { orNotFound } from "../webhooks/WebhookDecisions.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { Claim } from "../work/WorkQueue.ts"
import type { Attempt } from "./WebhookAttempt.ts"
import {
  type ClaimedDelivery,
  DeliveryState,
  newDelivery,
  type Outgoing,
  type WebhookDelivery,
  WebhookDeliveryRows
} from "./WebhookDelivery.ts"

export * from "./WebhookDelivery.ts"
export type { Attempt }

// -------------------------------------------------------------- errors

export class WebhookDeliveryNotFound
  extends Schema.TaggedError<WebhookDeliveryNotFound>()("WebhookDeliveryNotFound", {})
{}

// ----------------------------------------------------------- decisions

/** Makes a delivery due now, with the same event. A delivery that is due already, or is being attempted, does not change. */
export const retry = (
  outgoing: Option.Option<Outgoing>,
  webhook: Option.Option<WebhookRow>,
  { now }: DecisionContext
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
  const { id, next_attempt_at, webhook_id } = delivery
  // An attempt begins when it is due, so one that is in progress was due before.
  if (next_attempt_at !== null && DateTime.isLessThanOrEqualTo(next_attempt_at, now)) {
    return Result.succeed({ result: delivery, changes: WebhookDeliveryRows.expect({ id, version }) })
  }
  const set = DeliveryState.retry(now)
  const work = { kind: "webhook_delivery", lane: webhook_id, ref: id, due_at: now } as const
  return Result.succeed({
    result: { ...delivery, ...set },
    changes: Changes.all(
      WebhookDeliveryRows.update({ id, version }, set),
      next_attempt_at === null ? Changes.enqueue(work) : Changes.expedite(work),
      WebhookRows.expect(webhook.value)
    )
  })
}

/** Raises a test event for one webhook. No webhook can subscribe to such an event. */
const test = (
  webhook: WebhookRow,
  context: DecisionContext
): Result.Result<Changes.Decision<WebhookDelivery>, WebhookDisabled> => {
  const { id: lane, status } = webhook
  if (status === "disabled") return Result.fail(new WebhookDisabled())
  const event = Events.make("webhook.test", { conversation_id: null, webhook_id: lane }, context)
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
 *   same step. It may return none for a delivery that was just added, or whose resource is long.
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
  /** Makes a delivery due now, with the same event. A delivery that is due already, or is being attempted, does not change. */
  readonly retry: Write<
    [webhook_id: WebhookId, id: WebhookDeliveryId],
    WebhookDelivery,
    WebhookNotFound | WebhookDeliveryNotFound | WebhookDisabled
  >
  /** Posts one signed `webhook.test` to a webhook. Returns its delivery, which is pending. */
  readonly test: Write<[webhook_id: WebhookId], WebhookDelivery, WebhookNotFound | WebhookDisabled>
}>()("@messaging-crm/core/WebhookDeliveries") {
  static readonly layer = Layer.effect(
    WebhookDeliveries,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const store = yield* WebhookDeliveryStore
      const rows = yield* Rows

      const list = operation("webhook_deliveries.list")(function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const { deliveries, webhook } = yield* Effect.all({
          webhook: rows.find(WebhookRows, organization_id, webhook_id),
          deliveries: store.list(organization_id, webhook_id, limits.webhook_list_size)
        }, concurrently)
        yield* Effect.fromResult(orNotFound(webhook))
        return deliveries
      })

      const retryDelivery = write("webhook_deliveries.retry", function*(webhook_id: WebhookId, id: WebhookDeliveryId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: Effect.all({
            outgoing: store.load(organization_id, id),
            webhook: rows.find(WebhookRows, organization_id, webhook_id)
          }, concurrently),
          decide: ({ outgoing, webhook }, context) => retry(outgoing, webhook, context)
        }
      })

      const testWebhook = write("webhooks.test", function*(webhook_id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.find(WebhookRows, organization_id, webhook_id),
          decide: (webhook, context) => Result.flatMap(orNotFound(webhook), (row) => test(row, context))
        }
      })

      return WebhookDeliveries.of({ list, retry: retryDelivery, test: testWebhook })
    })
  )
}
