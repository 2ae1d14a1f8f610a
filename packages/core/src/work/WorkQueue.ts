/**
 * The work queue, an outbox: what a write promises and a worker does after the commit.
 *
 * Work is one of the changes of a commit, so it exists exactly when the promise
 * does. It waits in a lane: a `fifo` lane gives its items one by one, in the
 * order of their insertion; any lane has a cap on how many are out at once. A
 * worker claims items for a lease and settles each; an item that is never
 * settled is given out again when its lease ends.
 */
import { Context, Duration, Effect, Latch, Layer, Schema } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

// ---------------------------------------------------------------- data

/**
 * `send`: hand a message to the provider. `send_outcome`: give up on a send
 * whose outcome stayed unknown. `webhook_delivery`: post an event to a webhook.
 */
export const WorkKind = Schema.Literals(["send", "send_outcome", "webhook_delivery"])
export type WorkKind = typeof WorkKind.Type

/** How each kind's lanes give out their items. */
export const lanes: Readonly<Record<WorkKind, { readonly cap: number; readonly fifo: boolean }>> = {
  send: { cap: 1, fifo: true },
  send_outcome: { cap: 1, fifo: true },
  webhook_delivery: { cap: 8, fifo: false }
}

export interface Work {
  readonly kind: WorkKind
  /** A uuid: the conversation of a send, the send of a `send_outcome`, the webhook of a delivery. */
  readonly lane: string
  /** What the work is about. There is at most one item of a kind for one `ref`. */
  readonly ref: string
}

/** Work held by one worker until its lease ends. */
export interface ClaimedWork extends Work {
  readonly organization_id: OrganizationId
  /** How often the item has been claimed, this time included. */
  readonly attempt: number
  /** How many of its claims ended with a defect. */
  readonly defects: number
  /** Names this claim. A claim made later takes the item away from it. */
  readonly token: string
  /** The trace that the item was enqueued in, as `Traces.current` has it. */
  readonly trace: string | null
}

/** What the queue holds of a kind. */
export interface Backlog {
  readonly kind: WorkKind
  /** How many items wait for a worker. */
  readonly due: number
  /** How many items wait for their time. */
  readonly later: number
  /** How many items are out. */
  readonly held: number
  /** When the first item that waits for a worker became due; null when none does. */
  readonly oldest_due_at: Timestamp | null
}

/** How long a claim lasts: 60 seconds. Every attempt is cut well before. */
export const LeaseTime = Context.Reference<Duration.Duration>("@messaging-crm/core/WorkQueue/LeaseTime", {
  defaultValue: () => Duration.seconds(60)
})

// ---------------------------------------------------------------- port

/**
 * Port: where work is kept. It is enqueued, and settled together with other changes, by commits.
 *
 * **Contract** (checked by `conformance/WorkQueue.ts`)
 *
 * - `claim` returns at most `limit` items of a kind that are due, and of each lane no
 *   more than its cap allows beside those already out; of a fifo lane only its
 *   first item, and nothing while that one is not due or is out. It is empty
 *   only when nothing may be given out, or another claim is at it. Of concurrent
 *   claims each item goes to exactly one. The claims bear `token`. It never
 *   waits for a commit, and no commit waits for it longer than it takes.
 * - The claims that are `spare` do not count as out, settled or not, if they still
 *   hold their items.
 * - Lanes of a kind take turns: the one that has waited longest, since an item of it was
 *   due and since it was last served, is served first, and none twice while
 *   another that is due and free waits.
 * - `finish`, `postpone` and `release` answer false, and change nothing, when
 *   the claim no longer holds the item. `release` gives it back as if it had
 *   not been claimed. `recordDefect` postpones it, counts
 *   it in its `defects`, and answers how many those are, or 0 when the claim no
 *   longer holds it.
 * - `sweep` gives back the items whose lease has ended.
 * - After a commit throttled a lane nothing of it is given out until that moment, if
 *   there is one, and at most `cap` items at once from then on: for as long as
 *   the lane has items, or until it is throttled otherwise.
 * - A lane that has been without items for 15 seconds leaves nothing behind after a sweep.
 * - `backlog` returns what the queue holds of each kind with items.
 */
export class WorkQueue extends Context.Service<WorkQueue, {
  readonly claim: (options: {
    readonly kind: WorkKind
    readonly limit: number
    readonly now: Timestamp
    readonly lease_until: Timestamp
    readonly token: string
    /** Claims of the caller that it has carried out and not settled yet, or just now: their places are free. */
    readonly spare?: ReadonlyArray<ClaimedWork>
  }) => Effect.Effect<ReadonlyArray<ClaimedWork>>
  readonly finish: (claimed: ClaimedWork) => Effect.Effect<boolean>
  readonly postpone: (claimed: ClaimedWork, due_at: Timestamp) => Effect.Effect<boolean>
  readonly release: (claimed: ClaimedWork) => Effect.Effect<boolean>
  readonly recordDefect: (claimed: ClaimedWork, due_at: Timestamp) => Effect.Effect<number>
  readonly sweep: (now: Timestamp) => Effect.Effect<void>
  readonly backlog: (now: Timestamp) => Effect.Effect<ReadonlyArray<Backlog>>
}>()("@messaging-crm/core/WorkQueue") {}

/** Wakes the workers of this process, so that work need not wait for the next look. Losing a call costs one poll. */
export class WorkSignal extends Context.Service<WorkSignal, {
  readonly notify: (kind: WorkKind) => Effect.Effect<void>
  /** Returns once `notify` was called for the kind since the last return. */
  readonly wait: (kind: WorkKind) => Effect.Effect<void>
}>()("@messaging-crm/core/WorkQueue/WorkSignal") {
  static readonly layer = Layer.sync(WorkSignal, () => {
    const latches: Readonly<Record<WorkKind, Latch.Latch>> = {
      send: Latch.makeUnsafe(false),
      send_outcome: Latch.makeUnsafe(false),
      webhook_delivery: Latch.makeUnsafe(false)
    }
    return WorkSignal.of({
      notify: (kind) => Effect.asVoid(latches[kind].open),
      wait: (kind) => Effect.andThen(latches[kind].await, Effect.asVoid(latches[kind].close))
    })
  })
}
