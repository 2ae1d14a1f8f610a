/** A batch of a webhook replay: the events that one claim posts, one after the other (contract §14.18). */
import { DateTime, Duration, Effect, Result } from "effect"
import { EventId, type OrganizationId } from "../kernel/Ids.ts"
import type { Position } from "../kernel/Page.ts"
import { LeaseTime } from "../work/WorkQueue.ts"
import { bodyFor, EventStore } from "./Events.ts"
import type { WebhookRow } from "./Webhook.ts"
import { type Attempt, post_time_max, WebhookPosts } from "./WebhookAttempt.ts"
import type { WebhookReplayRow } from "./WebhookReplay.ts"

/** How many events a claim posts at most, and how long its reads and its commit may take. */
const [batch_max, storage_time_max] = [100, Duration.seconds(5)]

/** How many events of a replay are in memory at a time: the resource of each can have a megabyte, and 100 replays can run. */
const page_max = 4

/** Returns for how long a batch begins further posts, so that the last one ends within the lease. */
const batchTime = (lease: Duration.Duration): Duration.Duration =>
  Duration.subtract(lease, Duration.sum(post_time_max, storage_time_max))

/** How a batch ended. */
export interface Batch {
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

/** Makes the function that posts at least one event, and others until one fails or the time is over. */
export const makePostBatch = Effect.gen(function*() {
  const batch_time = batchTime(yield* LeaseTime)
  const events = yield* EventStore
  const { post } = yield* WebhookPosts

  return Effect.fnUntraced(function*(
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
})
