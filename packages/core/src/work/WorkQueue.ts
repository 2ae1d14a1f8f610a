/**
 * The work queue, an outbox: what has to be done after a commit.
 *
 * Work is one of the changes of a commit, so it is enqueued if and only if the
 * effect is committed. Each item is in a lane of its organization. The items of a `fifo`
 * lane are claimed one by one, in the order of insertion. Every lane has a cap on how many
 * of its items are claimed at once. A worker claims items for the time of a lease and
 * settles each. An item that is not settled can be claimed again when its lease
 * has ended.
 */
import { Context, Duration, Effect, Latch, Layer, Schema } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import { type Schedule, schedules } from "../kernel/Retries.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

// ---------------------------------------------------------------- data

/**
 * `send`: deliver a message to the provider. `send_outcome`: fail a send whose
 * outcome is still unknown. `webhook_event`: add an event's deliveries. `webhook_delivery`: post
 * an event to a webhook. `webhook_replay`: post a batch of stored events to a webhook again. `callback`: process what a
 * network posted.
 */
export const WorkKind = Schema.Literals([
  "send",
  "send_outcome",
  "webhook_event",
  "webhook_delivery",
  "webhook_replay",
  "callback"
])
export type WorkKind = typeof WorkKind.Type

/** The rules by which one kind of work differs from the others. */
interface KindRules {
  /** The cap of its lanes. */
  readonly cap: number
  readonly fifo: boolean
  /** The pauses after its defects. */
  readonly retries: Schedule
  /** The log level of a defect. Only a callback also fails for reasons outside of the service: a file that the network does not have yet. */
  readonly defect_level: "Error" | "Warn"
  /** Whether its items count toward the storage budget. Those that a network sends do not. */
  readonly is_counted: boolean
}

const own_work = { retries: schedules.defect, defect_level: "Error", is_counted: true } as const

/** The rules of each kind. */
export const kind_rules: Readonly<Record<WorkKind, KindRules>> = {
  send: { cap: 1, fifo: true, ...own_work },
  send_outcome: { cap: 1, fifo: true, ...own_work },
  webhook_event: { cap: 16, fifo: false, ...own_work, retries: schedules.event },
  webhook_delivery: { cap: 16, fifo: false, ...own_work },
  webhook_replay: { cap: 1, fifo: true, ...own_work },
  callback: { cap: 32, fifo: false, retries: schedules.callback, defect_level: "Warn", is_counted: false }
}

export interface Work {
  readonly kind: WorkKind
  /** A uuid: the conversation of a send, the send of a `send_outcome`, the organization of an event or callback, the webhook of a delivery or replay. */
  readonly lane: string
  /** The ID of the send, event, delivery, or callback, or of the webhook of a replay. At most one item of a kind exists for one `ref`. */
  readonly ref: string
}

/** An item of work that one worker has claimed until its lease ends. */
export interface ClaimedWork extends Work {
  readonly organization_id: OrganizationId
  /** How many items of its lane may be claimed at once: the cap of its kind, or less while the lane is throttled. */
  readonly lane_cap: number
  /** The number of claims of the item, including this one. */
  readonly attempt: number
  /** The number of its claims that ended with a defect. */
  readonly defects: number
  /** The ID of this claim. A later claim of the item has another one. */
  readonly token: string
  /** The trace that the item was enqueued in, in the format of `Traces.current`. */
  readonly trace: string | null
}

/** The counts of a kind's items. */
export interface Backlog {
  /** A `WorkKind`, or a kind that a newer version has added. */
  readonly kind: string
  /** Items that a worker can claim now. */
  readonly due: number
  /** Items that are due later, or whose lane is paused. */
  readonly later: number
  /** Items that are claimed. */
  readonly leased: number
  /** When the oldest of the `due` items became due; null when there is none. */
  readonly oldest_due_at: Timestamp | null
}

/** Returns the counts of a kind without items. */
export const emptyBacklog = (kind: string): Backlog => ({ kind, due: 0, later: 0, leased: 0, oldest_due_at: null })

/** The length of a lease: 60 seconds. Every attempt has a shorter timeout. */
export const LeaseTime = Context.Reference<Duration.Duration>("@messaging-crm/core/WorkQueue/LeaseTime", {
  defaultValue: () => Duration.seconds(60)
})

/** The options of a claim. */
export interface Claim {
  readonly kind: WorkKind
  readonly limit: number
  readonly now: Timestamp
  readonly lease_until: Timestamp
  readonly token: string
  /** How many items of each organization the caller has claimed already. Default: none. */
  readonly leased?: ReadonlyMap<OrganizationId, number>
  /** How many more items the caller can hold at once. Default: no limit. */
  readonly free?: number
}

// ---------------------------------------------------------------- port

/**
 * Port: the stored work. Commits enqueue and settle it.
 *
 * **Contract** (checked by `conformance/Ports/WorkQueue.ts`)
 *
 * - `claim` returns at most `limit` due items of a kind. An organization gets another one only while at least as many
 *   are `free` as the caller holds of it, and a lane only while the organization can get at least as many as the lane
 *   has: so some are free for other organizations and lanes. Of each lane it claims
 *   no more than the cap allows, counting the items already claimed. Of a fifo lane
 *   it claims only the first item, and nothing while that one is claimed or not
 *   due. It returns no items only if none can be claimed, or if concurrent
 *   claims have locked the lanes. Of concurrent claims exactly one gets an item. All
 *   items of a claim carry its `token`. A claim never waits for a commit, and a
 *   commit waits for a claim only while that runs.
 * - Organizations take turns: the one with the fewest items of the caller is served first.
 *   Within an organization, the lane with the fewest claimed items is served first, and among
 *   these the one that has waited longest: since its item was due or since it was
 *   last served, whichever is later.
 * - `sweep` releases the items whose lease has ended.
 * - No item of a throttled lane is claimed until the given time, if there is one, and at
 *   most `cap` items at once after that, until the next throttle. A lane can be throttled
 *   while it has no items.
 * - After a lane without a throttle has been empty for 15 seconds, a sweep deletes all its rows.
 * - `backlog` returns the counts of each kind that has items.
 */
export class WorkQueue extends Context.Service<WorkQueue, {
  readonly claim: (claim: Claim) => Effect.Effect<ReadonlyArray<ClaimedWork>>
  readonly sweep: (now: Timestamp) => Effect.Effect<void>
  readonly backlog: (now: Timestamp) => Effect.Effect<ReadonlyArray<Backlog>>
}>()("@messaging-crm/core/WorkQueue") {}

/** Wakes the workers of this process, so that new work does not wait for the next poll. A lost call delays it by one poll. */
export class WorkSignal extends Context.Service<WorkSignal, {
  readonly notify: (kind: WorkKind) => Effect.Effect<void>
  /** Returns once `notify` has been called for the kind since the last return. */
  readonly wait: (kind: WorkKind) => Effect.Effect<void>
}>()("@messaging-crm/core/WorkQueue/WorkSignal") {
  static readonly layer = Layer.sync(WorkSignal, () => {
    const latches = Object.fromEntries(
      WorkKind.literals.map((kind) => [kind, Latch.makeUnsafe(false)])
    ) as Readonly<Record<WorkKind, Latch.Latch>> // one of each kind
    return WorkSignal.of({
      notify: (kind) => Effect.asVoid(latches[kind].open),
      wait: (kind) => Effect.andThen(latches[kind].await, Effect.asVoid(latches[kind].close))
    })
  })
}
