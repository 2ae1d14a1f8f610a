/** The work queue as a part of the world. */
import type { Enqueued } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import type { WorkKind } from "@messaging-crm/core/WorkQueue"
import { HashMap, HashSet } from "effect"

export interface Item extends Enqueued {
  readonly organization_id: OrganizationId
  readonly attempt: number
  readonly defects: number
  readonly trace: string | null
  readonly claim: { readonly token: string; readonly until: Timestamp } | null
}

/** A lane of the queue. A lane is stored while it has items or is throttled. */
export interface Lane {
  readonly organization_id: OrganizationId
  readonly kind: WorkKind
  /** In the order of their insertion. */
  readonly items: ReadonlyArray<Item>
  readonly until: Timestamp | null
  readonly cap: number
  readonly served_at: Timestamp | null
}

export interface Queue {
  readonly lanes: HashMap.HashMap<string, Lane>
  /** Kind and ref of every item in the lanes. */
  readonly refs: HashSet.HashSet<string>
}

export const empty: Queue = { lanes: HashMap.empty(), refs: HashSet.empty() }
