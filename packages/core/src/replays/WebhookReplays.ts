/**
 * Webhook replays: stored events are posted again to one webhook, the oldest first and one at a time (contract §14.18).
 *
 * A replay is one item of work, which posts a batch and is due again until no event is left. It is neither a delivery nor
 * in the lane of the webhook's deliveries, so live events do not wait for it. A failed attempt ends the batch, and the
 * replay continues later with the same event.
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Result } from "effect"
import type { Attempt } from "../deliveries/WebhookAttempt.ts"
import * as Outcome from "../deliveries/WebhookOutcome.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import { nil, type OrganizationId, WebhookId, WebhookReplayId } from "../kernel/Ids.ts"
import { traced } from "../kernel/Traces.ts"
import {
  healthy,
  pauseOf,
  recordFailure,
  WebhookDisabled,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows
} from "../webhooks/Webhook.ts"
import * as Changes from "../work/Changes.ts"
import { event_age_max } from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import {
  ReplayInProgress,
  type ReplayWebhook,
  SinceOutOfRange,
  type WebhookReplay,
  type WebhookReplayRow,
  WebhookReplayRows
} from "./WebhookReplay.ts"
import { type Batch, makePostBatch } from "./WebhookReplayBatch.ts"

export * from "./WebhookReplay.ts"

// ----------------------------------------------------------- decisions

/** How long a replay waits after a failed attempt, unless the webhook is paused for longer. */
const pause_min = Duration.seconds(30)

interface Loaded {
  readonly replay: Option.Option<WebhookReplayRow>
  readonly webhook: Option.Option<WebhookRow>
}

const start = (
  { replay, webhook }: Loaded,
  { since }: ReplayWebhook,
  { now, uuid }: DecisionContext
): Result.Result<
  Changes.Decision<WebhookReplay>,
  ReplayInProgress | SinceOutOfRange | WebhookDisabled | WebhookNotFound
> => {
  const range = { minimum: DateTime.subtractDuration(now, event_age_max), maximum: now }
  if (!DateTime.between(since, range)) return Result.fail(new SinceOutOfRange())
  if (Option.isNone(webhook)) return Result.fail(new WebhookNotFound())
  const { id: webhook_id, status } = webhook.value
  if (status === "disabled") return Result.fail(new WebhookDisabled())
  if (Option.isSome(replay)) return Result.fail(new ReplayInProgress())
  const result: WebhookReplay = { id: WebhookReplayId.make(uuid()), webhook_id, since, created_at: now }
  return Result.succeed({
    result,
    changes: Changes.all(
      WebhookReplayRows.insert({ ...result, position_at: since, position_id: nil }),
      Changes.enqueue({ kind: "webhook_replay", lane: webhook_id, ref: webhook_id, due_at: now }),
      WebhookRows.expect(webhook.value)
    )
  })
}

/** A replay that has not ended, and its active webhook. */
interface Running {
  readonly claimed: ClaimedWork
  readonly replay: WebhookReplayRow
  readonly webhook: WebhookRow
}

/** Returns the loaded replay; null if it has ended, or its webhook is disabled. */
const runningOf = (claimed: ClaimedWork, { replay, webhook }: Loaded): Running | null =>
  Option.isNone(replay) || Option.isNone(webhook) || webhook.value.status === "disabled"
    ? null
    : { claimed, replay: replay.value, webhook: webhook.value }

/** Ends a replay, if it has not ended, and its work. */
const end = (claimed: ClaimedWork, replay: Option.Option<WebhookReplayRow>): Changes.Changes =>
  Changes.all(
    ...Option.toArray(replay).map((row) => WebhookReplayRows.remove(row)),
    Changes.finish(claimed)
  )

/** Continues after the last event that was posted, once a pause is over. */
const continueAfter = (
  { claimed, replay }: Running,
  { last }: Batch,
  pause: Duration.Duration,
  { now }: DecisionContext
): Changes.Changes =>
  Changes.all(
    WebhookReplayRows.update(replay, { position_at: last.at, position_id: last.id }),
    Changes.settle({ claimed, outcome: "postpone", due_at: DateTime.addDuration(now, pause) })
  )

/** Returns whether the endpoint accepted an event of the batch. A URL that the webhook no longer has is another endpoint. */
const hasSucceeded = ({ webhook }: Running, { accepted_by }: Batch): boolean => accepted_by === webhook.url

/** The changes after a failed attempt: the replay waits, or ends if the webhook is disabled. */
const afterFailure = (
  running: Running,
  batch: Batch,
  failed: Attempt,
  context: DecisionContext
): Changes.Decision<Outcome.Disabling> => {
  const { webhook } = running
  const isRecovered = hasSucceeded(running, batch)
  const endpoint = isRecovered ? { ...webhook, ...healthy } : webhook
  const { changes, result } = Outcome.recordEndpointFailure(endpoint, failed, context)
  if (result !== null) {
    return { result, changes: Changes.all(end(running.claimed, Option.some(running.replay)), changes) }
  }
  const pause = pauseOf(recordFailure(endpoint, context.now)) ?? pause_min
  return {
    result,
    changes: Changes.all(
      isRecovered ? Outcome.endPause(webhook) : Changes.none,
      changes,
      continueAfter(running, batch, pause, context)
    )
  }
}

/** The changes after a batch. A webhook that was disabled meanwhile ends its replay. */
const afterBatch = (
  claimed: ClaimedWork,
  loaded: Loaded,
  batch: Batch,
  context: DecisionContext
): Changes.Decision<Outcome.Disabling> => {
  const running = runningOf(claimed, loaded)
  if (running === null) return { result: null, changes: end(claimed, loaded.replay) }
  const { webhook } = running
  const { failed, is_done, is_held } = batch
  // A failure at a URL that the webhook no longer has says nothing about its endpoint.
  if (failed !== null && webhook.url === failed.url) return afterFailure(running, batch, failed.attempt, context)
  return {
    result: null,
    changes: Changes.all(
      failed === null && hasSucceeded(running, batch) ? Outcome.recordRecovery(webhook) : Changes.none,
      is_done
        ? end(claimed, loaded.replay)
        : continueAfter(running, batch, is_held ? pause_min : Duration.zero, context)
    )
  }
}

// ---------------------------------------------------------- operations

/** Operations on the replays of the current actor's webhooks. */
export class WebhookReplays extends Context.Service<WebhookReplays, {
  /** Reposts the stored events that the webhook subscribes to, starting at `since`, oldest first. */
  readonly start: Write<
    [webhook_id: WebhookId, input: ReplayWebhook],
    WebhookReplay,
    ReplayInProgress | SinceOutOfRange | WebhookDisabled | WebhookNotFound
  >
  /** Posts one batch of a claimed replay, and settles the claim. */
  readonly attempt: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Ends a replay that cannot continue because of a defect, and settles the claim. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
}>()("@messaging-crm/core/WebhookReplays") {
  static readonly layer = Layer.effect(
    WebhookReplays,
    Effect.gen(function*() {
      const { write, settle } = yield* Decide
      const postBatch = yield* makePostBatch
      const rows = yield* Rows

      const load = (organization_id: OrganizationId, webhook_id: WebhookId) =>
        Effect.all({
          replay: rows.find(WebhookReplayRows, organization_id, webhook_id),
          webhook: rows.find(WebhookRows, organization_id, webhook_id)
        }, concurrently)

      const startReplay = write("webhooks.replay", function*(webhook_id: WebhookId, input: ReplayWebhook) {
        const { organization_id } = yield* CurrentActor
        return {
          load: load(organization_id, webhook_id),
          decide: (loaded, context) => start(loaded, input, context)
        }
      })

      const settleWith = (
        claimed: ClaimedWork,
        decide: (loaded: Loaded, context: DecisionContext) => Changes.Decision<Outcome.Disabling>
      ) => settle(claimed, { load: load(claimed.organization_id, WebhookId.make(claimed.ref)), decide })

      const abandon = (claimed: ClaimedWork) =>
        Effect.asVoid(settleWith(claimed, ({ replay }) => ({ result: null, changes: end(claimed, replay) })))

      const attempt = traced("WebhookReplays.attempt")(function*(claimed: ClaimedWork) {
        const { organization_id } = claimed
        const running = runningOf(claimed, yield* load(organization_id, WebhookId.make(claimed.ref)))
        if (running === null) return yield* abandon(claimed)
        const batch = yield* postBatch(organization_id, running.replay)
        const disabling = yield* settleWith(claimed, (loaded, context) => afterBatch(claimed, loaded, batch, context))
        if (disabling !== null) yield* Outcome.reportDisabled(running.webhook, disabling)
      })

      return WebhookReplays.of({ start: startReplay, attempt, abandon })
    })
  )
}
