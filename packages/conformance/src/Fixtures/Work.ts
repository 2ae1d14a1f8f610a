/** Work, and the queue that contains it for all organizations. */
import * as Changes from "@messaging-crm/core/Changes"
import { EventId } from "@messaging-crm/core/Ids"
import { type Work, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect } from "effect"
import { finishWork, mustCommit, noon, uuid } from "./Base.ts"

/** Work of a lane that is not enqueued yet, due at noon. */
export const newWork = (lane: string, kind: WorkKind = "send") =>
  Effect.map(uuid, (ref) => ({ kind, lane, ref, due_at: noon }) satisfies Work & { readonly due_at: DateTime.Utc })

/** Claims work of every kind under one token, for 60 seconds. */
export const claimWork = Effect.fnUntraced(
  function*(options: { readonly limit?: number; readonly at?: DateTime.Utc } = {}) {
    const { at: now = noon, limit = 100 } = options
    const token = yield* uuid
    const lease_until = DateTime.add(now, { seconds: 60 })
    const claimed = yield* Effect.forEach(
      WorkKind.literals,
      (kind) => WorkQueue.use((queue) => queue.claim({ kind, limit, now, lease_until, token }))
    )
    return claimed.flat()
  }
)

/** Adds the deliveries of the events that are due, as a worker does. */
export const expandEvents = Effect.gen(function*() {
  const queue = yield* WorkQueue
  const now = yield* DateTime.now
  const options = { kind: "webhook_event", limit: 1000, now, lease_until: DateTime.add(now, { seconds: 60 }) } as const
  for (;;) {
    const claimed = yield* queue.claim({ ...options, token: yield* uuid })
    if (claimed.length === 0) return
    yield* Effect.forEach(
      claimed,
      (item) => mustCommit(item.organization_id, Changes.expand(EventId.make(item.ref)), Changes.finish(item))
    )
  }
})

/** Removes all work from the queue, which every test of a store shares. */
export const emptyQueue = Effect.gen(function*() {
  const queue = yield* WorkQueue
  const endOfTime = DateTime.makeUnsafe("2090-01-01T00:00:00.000Z")
  for (;;) {
    yield* queue.sweep(endOfTime)
    const left = yield* claimWork({ at: endOfTime })
    if (left.length === 0) return
    yield* Effect.forEach(left, finishWork)
  }
})
