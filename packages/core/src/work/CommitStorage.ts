/** Commit storage: the bytes of a commit that count toward the organization's storage budget (contract §16). */
import { Effect } from "effect"
import type { EventId, OrganizationId } from "../kernel/Ids.ts"
import type { Changes } from "./Changes.ts"
import { event_age_max, eventBytesOf } from "./RaisedEvents.ts"
import { record_age_max, recordBytesOf } from "./RecordedResponses.ts"
import { StorageUse } from "./StorageUse.ts"

/** Makes the functions that keep a commit within the budget, and count it. */
export const make = StorageUse.useSync((use) => ({
  /** Returns the changes, without the resources of their events if the organization's budget is used up. */
  withinBudget: (organization_id: OrganizationId, changes: Changes): Effect.Effect<Changes> => {
    const { raise = [] } = changes
    return raise.every(({ resource }) => resource === null)
      ? Effect.succeed(changes)
      : Effect.match(use.require(organization_id), {
        onSuccess: () => changes,
        onFailure: () => ({ ...changes, raise: raise.map((event) => ({ ...event, resource: null })) })
      })
  },
  /** Counts the bytes of the committed record and events. `full_ids` are the events stored with their resources. */
  count: (
    organization_id: OrganizationId,
    { raise = [], response }: Changes,
    full_ids: ReadonlyArray<EventId> = []
  ): Effect.Effect<void> =>
    use.count(organization_id, [
      ...(response === undefined ? [] : [{ bytes: recordBytesOf(response), age_max: record_age_max }]),
      ...raise.map((event) => ({ bytes: eventBytesOf(event, full_ids.includes(event.id)), age_max: event_age_max }))
    ])
}))
