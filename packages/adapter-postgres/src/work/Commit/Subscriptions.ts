/** Caches which types of events webhooks subscribe to, so that a commit of other events leaves out deliveries. */
import type { Changes } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"

/** The maximum number of cached types. When it is reached, all are removed, and found again. */
const types_max = 10_000

/** Types of events by organization. A type is kept after its last webhook is disabled: its commits are then slower, not wrong. */
export interface Subscriptions {
  readonly includes: (organization_id: OrganizationId, changes: Changes) => boolean
  readonly add: (organization_id: OrganizationId, changes: Changes) => void
}

export const make = (): Subscriptions => {
  const types = new Set<string>()
  const typesOf = (organization_id: OrganizationId, { raise = [] }: Changes) =>
    raise.map(({ type }) => `${organization_id} ${type}`)
  return {
    includes: (organization_id, changes) => typesOf(organization_id, changes).some((type) => types.has(type)),
    add: (organization_id, changes) => {
      if (types.size >= types_max) types.clear()
      for (const type of typesOf(organization_id, changes)) types.add(type)
    }
  }
}
