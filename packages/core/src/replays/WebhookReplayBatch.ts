/** A batch of a webhook replay: the events that one claim posts, one after the other (contract §14.18). */
import { DateTime, Duration, Effect, Option, Result } from "effect"
import { type Attempt, post_time_max, WebhookPosts } from "../deliveries/WebhookAttempt.ts"
import { bodyFor, EventStore } from "../events/Events.ts"
import { EventId, type OrganizationId } from "../kernel/Ids.ts"
import type { Position } from "../kernel/Page.ts"
import { WebhookRows } from "../webhooks/Webhook.ts"
import { Rows } from "../work/Rows.ts"
import { LeaseTime } from "../work/WorkQueue.ts"
import type { WebhookReplayRow } from "./WebhookReplay.ts"

/** How many events a claim posts at most, and how long its reads and its commit may take. */
const [batch_max, storage_time_max] = [100, Duration.seconds(5)]

/** Returns for how long a batch begins further posts, so that the last one ends within the lease. */
const batchTime = (lease: Duration.Duration): Duration.Duration =>
  Duration.subtract(lease, Duration.sum(post_time_max, storage_time_max))

/** How a batch ended. */
export interface Batch {
  /** The position of the last event that was posted. */
  readonly last: Position
  /** The URL that accepted it; null if none was posted. */
  readonly accepted_by: string | null
  /** Whether no event is left. */
  readonly is_done: boolean
  /** The attempt that failed, and the URL to which the event was posted; null if none did. */
  readonly failed: { readonly attempt: Attempt; readonly url: string } | null
  /** Whether an event was not posted, because the host is busy or the secret is unreadable. */
  readonly is_held: boolean
}

/** Makes the function that posts at least one event, and others until one fails, the webhook is disabled, or the time is over. */
export const makePostBatch = Effect.gen(function*() {
  const batch_time = batchTime(yield* LeaseTime)
  const events = yield* EventStore
  const { post } = yield* WebhookPosts
  const rows = yield* Rows

  return Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { created_at: until, position_at: at, position_id: id, webhook_id }: WebhookReplayRow
  ) {
    const deadline = DateTime.addDuration(yield* DateTime.now, batch_time)
    const batch = { is_done: false, failed: null, is_held: false }
    let posted: Pick<Batch, "accepted_by" | "last"> = { last: { at, id }, accepted_by: null }
    for (let count = 0; count < batch_max; count++) {
      // At least one event is posted, because otherwise a replay with a very short lease would make no progress.
      if (count > 0 && DateTime.isGreaterThan(yield* DateTime.now, deadline)) return { ...batch, ...posted }
      // Both are read for each attempt, because a change of the webhook and an erasure apply to all later ones.
      const webhook = Option.getOrNull(yield* rows.find(WebhookRows, organization_id, webhook_id))
      if (webhook === null || webhook.status === "disabled") return { ...batch, ...posted }
      const { event_types: types, url } = webhook
      const [event] = yield* events.next(organization_id, { types, until }, { after: posted.last, size: 1 })
      if (event === undefined) return { ...batch, ...posted, is_done: true }
      const { created_at, id, ...bodies } = event
      const outcome = yield* Effect.result(
        post({ organization_id, webhook, event_id: EventId.make(id), body: bodyFor(webhook, bodies) })
      )
      if (Result.isFailure(outcome)) return { ...batch, ...posted, is_held: true }
      const { attempt } = outcome.success
      if (attempt.failure_code !== null) return { ...batch, ...posted, failed: { attempt, url } }
      posted = { last: { at: created_at, id }, accepted_by: url }
    }
    return { ...batch, ...posted }
  })
})
