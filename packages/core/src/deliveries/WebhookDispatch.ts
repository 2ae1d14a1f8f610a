/**
 * Webhook dispatch: how the worker processes one delivery.
 *
 * An attempt is made before anything is committed. If a worker dies during one, another worker makes it again, with the
 * same ID and bytes. `WebhookOutcome.ts` decides the next step.
 */
import { Context, Effect, Layer, Option, Random, Result } from "effect"
import { bodyFor } from "../events/Events.ts"
import type { FailureCode } from "../kernel/DeliveryFailure.ts"
import { type OrganizationId, WebhookDeliveryId } from "../kernel/Ids.ts"
import type { SecretUnreadable } from "../kernel/Secrets.ts"
import { traced } from "../kernel/Traces.ts"
import type { WebhookRow } from "../webhooks/Webhook.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import { StorageUse, storedResponseBody } from "../work/StorageUse.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import { type Attempt, type HostBusy, WebhookPosts } from "./WebhookAttempt.ts"
import { WebhookDeliveryStore } from "./WebhookDeliveries.ts"
import {
  type ClaimedDelivery,
  DeliveryState,
  type Outgoing,
  type WebhookDelivery,
  WebhookDeliveryRows
} from "./WebhookDelivery.ts"
import * as Outcome from "./WebhookOutcome.ts"

// ----------------------------------------------------------- decisions

/** Returns whether an attempt's result is written. It still is if the webhook was disabled during the attempt. */
const acceptsResult = ({ failure_code, status }: WebhookDelivery): boolean =>
  status === "pending" || failure_code === "webhook_disabled"

/** The changes that fail a delivery without a further attempt. */
const failDelivery = (claimed: ClaimedWork, { delivery }: Outgoing, failure_code: FailureCode): Changes.Changes =>
  Changes.all(
    WebhookDeliveryRows.update(delivery, DeliveryState.abandon(failure_code)),
    Changes.finish(claimed)
  )

/**
 * The changes for a delivery that was loaded without anything to attempt. A claim that began before a manual retry loads the
 * delivery as it was before, so the current one decides.
 */
const afterNoAttempt = (claimed: ClaimedWork, current: Outgoing, { now }: DecisionContext): Changes.Changes => {
  if (current.webhook.status === "disabled") return failDelivery(claimed, current, "webhook_disabled")
  return current.delivery.status === "pending" ? Outcome.postAgain(claimed, now) : Changes.finish(claimed)
}

// ---------------------------------------------------------- operations

/** Makes the functions that load a claimed delivery, and settle its claim. */
const makeSettlement = Effect.gen(function*() {
  const { settle } = yield* Decide
  const store = yield* WebhookDeliveryStore

  const find = ({ organization_id, ref }: ClaimedWork) => store.load(organization_id, WebhookDeliveryId.make(ref))

  /** Settles the claim with the decision about the delivery, or with no change to it if it has already ended. */
  const settleDelivery = (
    claimed: ClaimedWork,
    decide: (outgoing: Outgoing, context: DecisionContext) => Changes.Decision<Outcome.Disabling>,
    firstLoad = find(claimed)
  ) =>
    settle(claimed, {
      firstLoad,
      load: find(claimed),
      decide: (found, context) =>
        Option.match(Option.filter(found, ({ delivery }) => acceptsResult(delivery)), {
          onNone: () => ({ result: null, changes: Changes.finish(claimed) }),
          onSome: (outgoing) => decide(outgoing, context)
        })
    })

  /** Settles the claim without the result of an attempt. */
  const settleWithout = (
    claimed: ClaimedWork,
    changesOf: (outgoing: Outgoing, context: DecisionContext) => Changes.Changes
  ) =>
    Effect.asVoid(settleDelivery(claimed, (current, context) => ({
      result: null,
      changes: changesOf(current, context)
    })))

  return { find, settleDelivery, settleWithout }
})

/** Makes the function that counts the endpoint's response to an attempt, and omits it if the budget is used up. */
const makeWithinBudget = Effect.map(StorageUse, (use) =>
  Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { delivery }: Outgoing,
    attempt: Attempt
  ) {
    const hasSpace = yield* Effect.isSuccess(use.require(organization_id))
    const response_body = hasSpace ? attempt.response_body : null
    yield* use.count(organization_id, [storedResponseBody(response_body, delivery.response_body)])
    return { ...attempt, response_body }
  }))

/** Makes the function that makes one attempt of a claimed delivery, and settles the claim. */
const makeAttempt = Effect.gen(function*() {
  const { find, settleDelivery, settleWithout } = yield* makeSettlement
  const { post } = yield* WebhookPosts
  const withinBudget = yield* makeWithinBudget

  /** Settles a claim whose event was not posted. It is due later. */
  const settleUnposted = Effect.fnUntraced(
    function*(claimed: ClaimedWork, webhook: WebhookRow, { _tag }: HostBusy | SecretUnreadable) {
      if (_tag === "SecretUnreadable") yield* Outcome.reportUnreadable(webhook)
      const random = yield* Random.next
      yield* settleWithout(claimed, (current, { now }) =>
        _tag === "SecretUnreadable"
          ? Outcome.postponeUnreadable(claimed, current.webhook, now)
          : Outcome.yieldHost(claimed, now, random))
    }
  )

  return traced("WebhookDispatch.attempt")(function*({ claimed, outgoing: known }: ClaimedDelivery) {
    const found = known === null ? yield* find(claimed) : Option.some(known)
    const outgoing = Option.getOrNull(found)
    if (outgoing === null || outgoing.delivery.status !== "pending" || outgoing.webhook.status === "disabled") {
      return yield* settleWithout(claimed, (current, context) => afterNoAttempt(claimed, current, context))
    }
    const { delivery: { event_id }, webhook } = outgoing
    const { organization_id } = claimed
    const body = bodyFor(webhook, outgoing)
    const posted = yield* Effect.result(post({ organization_id, webhook, event_id, body }))
    if (Result.isFailure(posted)) return yield* settleUnposted(claimed, webhook, posted.failure)
    const { attempt: whole, retry_after } = posted.success
    const attempt = yield* withinBudget(organization_id, outgoing, whole)
    const after = { before: outgoing, posted: { attempt, retry_after }, random: yield* Random.next }
    const disabling = yield* settleDelivery(
      claimed,
      (current, context) => Outcome.afterAttempt(claimed, current, after, context),
      // After a success, what was loaded before the attempt is loaded again only after a conflict.
      attempt.failure_code === null ? Effect.succeed(found) : undefined
    )
    if (disabling !== null) yield* Outcome.reportDisabled(webhook, disabling)
  })
})

/** Operations on claimed deliveries. */
export class WebhookDispatch extends Context.Service<WebhookDispatch, {
  /** Makes one attempt of a claimed delivery, and settles the claim. */
  readonly attempt: (delivery: ClaimedDelivery) => Effect.Effect<void>
  /** Fails a delivery that cannot be attempted because of a defect, and settles the claim. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
}>()("@messaging-crm/core/WebhookDispatch") {
  static readonly layer = Layer.effect(
    WebhookDispatch,
    Effect.gen(function*() {
      const { settleWithout } = yield* makeSettlement

      const abandon = traced("WebhookDispatch.abandon")(function*(claimed: ClaimedWork) {
        yield* settleWithout(claimed, (current) => failDelivery(claimed, current, "protocol_error"))
      })

      return WebhookDispatch.of({ attempt: yield* makeAttempt, abandon })
    })
  )
}
