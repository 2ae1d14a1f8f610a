/** A queue with work in it. */
import * as Changes from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, type Work, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"

export const newWork = Effect.fnUntraced(function*(lane: string, kind: WorkKind = "send") {
  return { kind, lane, ref: yield* Fixtures.uuid } satisfies Work
})

export const enqueue = (organization_id: OrganizationId, work: Work, due_at: DateTime.Utc) =>
  Fixtures.write(organization_id, Changes.enqueue({ ...work, due_at }))

export const throttle = (organization_id: OrganizationId, lane: Changes.Throttle) =>
  Fixtures.write(organization_id, Changes.throttle(lane))

/** Claims work of every kind under one token. */
export const claim = Effect.fnUntraced(
  function*(options: { readonly limit?: number; readonly at?: DateTime.Utc } = {}) {
    const { at: now = Fixtures.noon, limit = 100 } = options
    const token = yield* Fixtures.uuid
    const lease_until = DateTime.add(now, { seconds: 60 })
    const claimed = yield* Effect.forEach(
      WorkKind.literals,
      (kind) => WorkQueue.use((queue) => queue.claim({ kind, limit, now, lease_until, token }))
    )
    return claimed.flat()
  }
)

export const refs = (items: ReadonlyArray<Pick<ClaimedWork, "ref">>) => items.map(({ ref }) => ref)

/** An empty queue, an organization and a lane. */
export const start = Effect.gen(function*() {
  const queue = yield* WorkQueue
  const endOfTime = DateTime.makeUnsafe("2090-01-01T00:00:00.000Z")
  for (;;) {
    yield* queue.sweep(endOfTime)
    const left = yield* claim({ at: endOfTime })
    if (left.length === 0) break
    yield* Effect.forEach(left, Fixtures.finish)
  }
  return { queue, ours: yield* Fixtures.organization, lane: yield* Fixtures.uuid }
})
