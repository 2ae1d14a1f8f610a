/** How the tests of the queue start, and how they enqueue work and throttle lanes. */
import * as Changes from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, type Work, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { type DateTime, Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"

export { claimWork as claim, newWork } from "../../Fixtures.ts"

export const enqueue = (organization_id: OrganizationId, work: Work, due_at: DateTime.Utc) =>
  Fixtures.mustCommit(organization_id, Changes.enqueue({ ...work, due_at }))

export const throttle = (organization_id: OrganizationId, lane: Changes.Throttle) =>
  Fixtures.mustCommit(organization_id, Changes.throttle(lane))

export const refs = (items: ReadonlyArray<Pick<ClaimedWork, "ref">>) => items.map(({ ref }) => ref)

/** An empty queue, an organization and a lane. */
export const start = Effect.gen(function*() {
  yield* Fixtures.emptyQueue
  return { queue: yield* WorkQueue, ours: yield* Fixtures.organization, lane: yield* Fixtures.uuid }
})
