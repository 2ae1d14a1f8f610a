/**
 * Webhook replays: stored events are posted again to one webhook, the oldest first and one at a time (contract §14.18).
 *
 * A replay is one item of work, which posts a batch and is due again until no event is left. It is neither a delivery nor
 * in the lane of the webhook's deliveries, so live events do not wait for it. A failed attempt ends the batch, and the
 * replay continues later with the same event.
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import { EventId, type OrganizationId, WebhookId, WebhookReplayId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import type { Position } from "../kernel/Page.ts"
import { SinceTime, Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import { type ClaimedWork, LeaseTime } from "../work/WorkQueue.ts"
import { bodyFor, EventStore } from "./Events.ts"
import { type Attempt, post_time_max, WebhookPosts } from "./WebhookAttempt.ts"
import * as Outcome from "./WebhookOutcome.ts"
import {
  healthy,
  pauseOf,
  recordFailure,
  WebhookDisabled,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows,
  WebhookStore
} from "./Webhooks.ts"

// ---------------------------------------------------------------- data

export const WebhookReplay = Schema.Struct({
  id: WebhookReplayId,
  webhook_id: WebhookId,
  since: Timestamp.pipe(
    Schema.annotateEncoded({ description: "Events raised at this time or later are posted again." })
  ),
  created_at: Timestamp.pipe(
    Schema.annotateEncoded({
      description: "The time of the request. Events raised at this time or later are not part of the replay."
    })
  )
}).annotate({ identifier: "WebhookReplay", description: "Stored events that are posted to a webhook again." })
export interface WebhookReplay extends Schema.Schema.Type<typeof WebhookReplay> {}

export const ReplayWebhook = Schema.Struct({
  since: SinceTime.pipe(Schema.annotateEncoded({
    description: "Events raised at this time or later are posted again. The time must be within the last 30 days."
  }))
}).annotate({ identifier: "ReplayWebhook" }).pipe(Schema.brand("ReplayWebhook"))
export interface ReplayWebhook extends Schema.Schema.Type<typeof ReplayWebhook> {}

/** The columns of a replay, which continues with the event after the position. */
export interface WebhookReplayColumns extends WebhookReplay {
  readonly position_at: Timestamp
  readonly position_id: string
}

export interface WebhookReplayRow extends WebhookReplayColumns {
  readonly version: Changes.Version
}

export const WebhookReplayRows = Changes.rows<WebhookReplayColumns>()({
  name: "webhook_replays",
  key: { webhook_id: "uuid" },
  columns: {
    id: "uuid",
    since: "timestamptz",
    created_at: "timestamptz",
    position_at: "timestamptz",
    position_id: "uuid"
  },
  unique: null,
  activity: null
})

// -------------------------------------------------------------- errors

/** `since` is in the future, or so long ago that events raised at that time have been deleted. */
export class SinceOutOfRange extends Schema.TaggedError<SinceOutOfRange>()("SinceOutOfRange", {}) {}

/** A replay of the webhook has not ended. */
export class ReplayInProgress extends Schema.TaggedError<ReplayInProgress>()("ReplayInProgress", {}) {}

// ----------------------------------------------------------- decisions

/** How many events a claim posts at most, and how long its reads and its commit may take. */
const [batch_max, storage_time_max] = [100, Duration.seconds(5)]

/** How many events of a replay are in memory at a time: the resource of each can have a megabyte, and 100 replays can run. */
const page_max = 4

/** Returns for how long a batch begins further posts, so that the last one ends within the lease. */
const batchTime = (lease: Duration.Duration): Duration.Duration =>
  Duration.subtract(lease, Duration.sum(post_time_max, storage_time_max))

/** How long a replay waits after a failed attempt, unless the webhook is paused for longer. */
const pause_min = Duration.seconds(30)

/** The ID before that of every event. */
const nil = "00000000-0000-0000-0000-000000000000"

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
  const range = { minimum: DateTime.subtractDuration(now, Changes.event_age_max), maximum: now }
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

/** How a batch ended. */
interface Batch {
  /** The URL to which the events were posted. */
  readonly url: string
  /** The position of the last event that was posted. */
  readonly last: Position
  /** Whether no event is left. */
  readonly is_done: boolean
  /** The attempt that failed; null if none did. */
  readonly failed: Attempt | null
  /** Whether an event was not posted, because the host is busy or the secret is unreadable. */
  readonly is_held: boolean
}

/** A replay that has not ended, and its active webhook. */
interface Running {
  readonly claimed: ClaimedWork
  readonly replay: WebhookReplayRow
  readonly webhook: WebhookRow
}

const end = ({ claimed, replay }: Omit<Running, "webhook">): Changes.Changes =>
  Changes.all(WebhookReplayRows.remove(replay), Changes.finish(claimed))

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

/** Returns whether the endpoint accepted an event of the batch. */
const hasSucceeded = ({ replay }: Running, { last }: Batch): boolean => last.id !== replay.position_id

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
  const { changes, result } = Outcome.failedEndpoint(endpoint, failed, context)
  if (result !== null) return { result, changes: Changes.all(end(running), changes) }
  const pause = pauseOf(recordFailure(endpoint, context.now)) ?? pause_min
  return {
    result,
    changes: Changes.all(
      isRecovered ? Outcome.unpaused(webhook) : Changes.none,
      changes,
      continueAfter(running, batch, pause, context)
    )
  }
}

/** The changes after a batch. A webhook that was disabled meanwhile ends its replay. */
const proceed = (
  claimed: ClaimedWork,
  { replay, webhook }: Loaded,
  batch: Batch,
  context: DecisionContext
): Changes.Decision<Outcome.Disabling> => {
  if (Option.isNone(replay)) return { result: null, changes: Changes.finish(claimed) }
  if (Option.isNone(webhook) || webhook.value.status === "disabled") {
    return { result: null, changes: end({ claimed, replay: replay.value }) }
  }
  const running: Running = { claimed, replay: replay.value, webhook: webhook.value }
  const { failed, is_done, is_held, url } = batch
  // A failure at a URL that the webhook no longer has says nothing about its endpoint.
  if (failed !== null && running.webhook.url === url) return afterFailure(running, batch, failed, context)
  return {
    result: null,
    changes: Changes.all(
      failed === null && hasSucceeded(running, batch) ? Outcome.recovered(running.webhook) : Changes.none,
      is_done ? end(running) : continueAfter(running, batch, is_held ? pause_min : Duration.zero, context)
    )
  }
}

// ---------------------------------------------------------------- port

/**
 * Port: reads replays. Commits write them.
 *
 * **Contract** (checked by `conformance/Ports/WebhookReplays.ts`)
 *
 * - `find` returns the latest committed row of a webhook's replay, and none for
 *   another organization's webhook.
 */
export class WebhookReplayStore extends Context.Service<WebhookReplayStore, {
  readonly find: (
    organization_id: OrganizationId,
    webhook_id: WebhookId
  ) => Effect.Effect<Option.Option<WebhookReplayRow>>
}>()("@messaging-crm/core/WebhookReplays/WebhookReplayStore") {}

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
      const { runAudited, settle } = yield* Decide
      const events = yield* EventStore
      const batch_time = batchTime(yield* LeaseTime)
      const { post } = yield* WebhookPosts
      const replays = yield* WebhookReplayStore
      const webhooks = yield* WebhookStore

      const load = (organization_id: OrganizationId, webhook_id: WebhookId) =>
        Effect.all({
          replay: replays.find(organization_id, webhook_id),
          webhook: webhooks.find(organization_id, webhook_id)
        }, concurrently)

      const startReplay = operation("webhooks.replay")(
        function*<Out>(webhook_id: WebhookId, input: ReplayWebhook, respond?: Respond<WebhookReplay, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("webhooks.replay", {
            load: load(organization_id, webhook_id),
            decide: (loaded, context) => start(loaded, input, context)
          }, respond)
        }
      )

      /** Posts at least one event, and others one after the other, until one fails or the time is over. */
      const postBatch = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        webhook: WebhookRow,
        { created_at: until, position_at: at, position_id: id }: WebhookReplayRow
      ) {
        const deadline = DateTime.addDuration(yield* DateTime.now, batch_time)
        const batch: Batch = { url: webhook.url, last: { at, id }, is_done: false, failed: null, is_held: false }
        let { last } = batch
        for (let count = 0; count < batch_max;) {
          const page = yield* events.next(
            organization_id,
            { types: webhook.event_types, until },
            { after: last, size: page_max }
          )
          for (const { created_at, id, ...bodies } of page) {
            // At least one event is posted, because otherwise a replay with a very short lease would make no progress.
            if (count > 0 && DateTime.isGreaterThan(yield* DateTime.now, deadline)) return { ...batch, last }
            const posted = yield* Effect.result(
              post({ organization_id, webhook, event_id: EventId.make(id), body: bodyFor(webhook, bodies) })
            )
            if (Result.isFailure(posted)) return { ...batch, last, is_held: true }
            const { attempt } = posted.success
            if (attempt.failure_code !== null) return { ...batch, last, failed: attempt }
            last = { at: created_at, id }
            count++
          }
          if (page.length < page_max) return { ...batch, last, is_done: true }
        }
        return { ...batch, last }
      })

      const settleWith = (
        claimed: ClaimedWork,
        decide: (loaded: Loaded, context: DecisionContext) => Changes.Decision<Outcome.Disabling>
      ) => settle(claimed, { load: load(claimed.organization_id, WebhookId.make(claimed.ref)), decide })

      const abandon = (claimed: ClaimedWork) =>
        Effect.asVoid(settleWith(claimed, ({ replay }) => ({
          result: null,
          changes: Changes.all(
            ...Option.toArray(replay).map((row) => WebhookReplayRows.remove(row)),
            Changes.finish(claimed)
          )
        })))

      const attempt = traced("WebhookReplays.attempt")(function*(claimed: ClaimedWork) {
        const { organization_id } = claimed
        const { replay, webhook } = yield* load(organization_id, WebhookId.make(claimed.ref))
        if (Option.isNone(replay) || Option.isNone(webhook) || webhook.value.status === "disabled") {
          return yield* abandon(claimed)
        }
        const batch = yield* postBatch(organization_id, webhook.value, replay.value)
        const disabling = yield* settleWith(claimed, (loaded, context) => proceed(claimed, loaded, batch, context))
        if (disabling !== null) yield* Outcome.reportDisabled(webhook.value, disabling)
      })

      return WebhookReplays.of({ start: startReplay, attempt, abandon })
    })
  )
}
