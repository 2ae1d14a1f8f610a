/**
 * Callback inbox: stores the bodies that networks post until they are processed.
 *
 * A network gets its response once the body is stored, so it neither waits for the
 * processing nor retries. The processing is work of the kind `callback`. Processing a body again
 * changes nothing: if a lease ends first, two processes can do it.
 */
import { Array, Context, DateTime, Duration, Effect, Exit, Layer, Metric, Option, Result, Schema } from "effect"
import { ChannelRows } from "../catalog/Channels.ts"
import { ChannelId, nil, OrganizationId } from "../kernel/Ids.ts"
import { callbacks_age, callbacks_waiting } from "../kernel/Metrics.ts"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { Item } from "../work/WorkLoop.ts"
import * as WorkLoop from "../work/WorkLoop.ts"
import { type Claim, type ClaimedWork, WorkQueue } from "../work/WorkQueue.ts"
import { makeTurns, order_wait_max } from "./CallbackOrder.ts"

// ---------------------------------------------------------------- data

/** A body that concerns one group of people on one channel. The provider's adapter splits combined callbacks. */
export const CallbackPart = Schema.Struct({
  /** The channel; null where the body belongs to none that is connected. */
  channel_id: Schema.NullOr(ChannelId),
  /** The IDs of its senders and recipients, without a plus sign. An erasure finds the body by them. */
  people: Schema.Array(Schema.String),
  body: Schema.Uint8Array
})
export interface CallbackPart extends Schema.Schema.Type<typeof CallbackPart> {}

export const StoredCallback = Schema.Struct({
  /** A uuid, later ones greater. */
  id: Schema.String,
  /** The sender in terms of the provider's package, such as the ID of the app that signed the body. */
  source: Schema.String,
  ...CallbackPart.fields,
  received_at: Timestamp
})
export interface StoredCallback extends Schema.Schema.Type<typeof StoredCallback> {}

export const CallbackRows = Changes.removable(
  Changes.declareTable(StoredCallback)({
    name: "provider_callbacks",
    key: { id: "uuid" }
  })
)

/** The organization of bodies without a connected channel. All of them take turns as one organization. */
export const no_organization = OrganizationId.make(nil)

/** A body that one process has claimed until its lease ends. */
export interface ClaimedCallback extends StoredCallback {
  /** The number of attempts to process the body, including this one. */
  readonly attempt: number
  /** Whether it delays the later events of its people if it fails (`CallbackOrder.ts`). */
  readonly is_ordered: boolean
}

/** A stored body, and whether it must wait for an earlier one of its people that is not in the same claim. */
export interface LoadedCallback {
  readonly callback: StoredCallback
  readonly is_behind: boolean
}

/** The bodies that are not processed yet. */
export interface CallbackBacklog {
  readonly count: number
  /** When the oldest was received; null without bodies. */
  readonly oldest_received_at: Timestamp | null
}

// ---------------------------------------------------------------- port

/**
 * Port: reads the bodies of callbacks.
 *
 * **Contract** (checked by `conformance/Ports/CallbackInbox.ts`)
 *
 * - `load` returns the bodies of claimed work in its order, with their bytes unchanged; none for a body that is deleted.
 * - A body is behind while an earlier one of its organization, of its channel, and of one of its people is claimed by
 *   another claim or due later, and was received after `ordered_since`.
 * - `backlog` counts all bodies that are not processed, claimed or not.
 */
export class CallbackStore extends Context.Service<CallbackStore, {
  readonly load: (
    claimed: ReadonlyArray<ClaimedWork>,
    options: { readonly now: Timestamp; readonly ordered_since: Timestamp }
  ) => Effect.Effect<ReadonlyArray<Option.Option<LoadedCallback>>>
  readonly backlog: Effect.Effect<CallbackBacklog>
}>()("@messaging-crm/core/CallbackInbox/CallbackStore") {}

// ---------------------------------------------------------- operations

/** The maximum number of bodies that one process has in progress. Each can have 4 MB. */
const in_progress_max = 16
/** A claim per slot would cost as much as processing the body. */
const claim_min = 8

/** Processes one body. If it dies, the body is kept and retried. */
export type CallbackHandler = (callback: ClaimedCallback) => Effect.Effect<void>

/** Makes the function that stores the parts of a body, all of a channel in one commit. */
const makeStore = Effect.gen(function*() {
  const decide = yield* Decide
  const rows = yield* Rows

  const ownerOf = (channel_id: ChannelId | null) =>
    channel_id === null
      ? Effect.succeed(no_organization)
      : Effect.map(
        rows.locate(ChannelRows, channel_id),
        Option.match({ onNone: () => no_organization, onSome: ({ organization_id }) => organization_id })
      )

  const newCallback = (
    lane: OrganizationId,
    source: string,
    part: CallbackPart,
    { now, uuid }: DecisionContext
  ): Changes.Changes => {
    const callback = { ...part, id: uuid(), source, received_at: now }
    return Changes.all(
      CallbackRows.insert(callback),
      Changes.enqueue({ kind: "callback", lane, ref: callback.id, due_at: now })
    )
  }

  return traced("CallbackInbox.store")(function*(source: string, parts: ReadonlyArray<CallbackPart>) {
    for (const [channel_id, ofChannel] of Map.groupBy(parts, (part) => part.channel_id)) {
      const organization_id = yield* ownerOf(channel_id)
      yield* decide.run(organization_id, {
        load: Effect.void,
        decide: (_, context) =>
          Result.succeed({
            result: null,
            changes: Changes.all(...ofChannel.map((part) => newCallback(organization_id, source, part, context)))
          })
      })
    }
  })
})

/** It is retried until it succeeds. */
const itemOf = (claimed: ClaimedWork, execution: Item["execution"]): Item => ({ claimed, execution, abandon: null })

/** Makes the function that returns how callbacks are claimed, each with its processing. */
const makeSource = Effect.gen(function*() {
  const callbacks = yield* CallbackStore
  const { settle } = yield* Decide
  const queue = yield* WorkQueue

  const settleWith = (claimed: ClaimedWork, changesAt: (now: Timestamp) => Changes.Changes) =>
    Effect.asVoid(
      settle(claimed, { load: Effect.void, decide: (_, { now }) => ({ result: null, changes: changesAt(now) }) })
    )

  /** Lets a body wait for an earlier one of the same person (`CallbackOrder.ts`). */
  const wait = (claimed: ClaimedWork) =>
    settleWith(claimed, (now) => {
      const due_at = DateTime.addDuration(now, pauseAfter(schedules.callback_order, claimed.attempt))
      return Changes.settle({ claimed, outcome: "postpone", due_at })
    })

  /** Deletes a body that is processed. */
  const finish = (claimed: ClaimedWork) =>
    settleWith(claimed, () => Changes.all(Changes.finish(claimed), CallbackRows.remove({ id: claimed.ref })))

  /** Returns how the bodies of a claim are processed, in the order of their receipt. */
  const itemsOf = (
    handle: CallbackHandler,
    ordered_since: Timestamp,
    inOrder: ReadonlyArray<readonly [ClaimedWork, Option.Option<LoadedCallback>]>
  ): ReadonlyArray<Item> => {
    const inTurn = makeTurns()
    return inOrder.map(([claimed, found]) => {
      if (Option.isNone(found)) return itemOf(claimed, settleWith(claimed, () => Changes.finish(claimed)))
      const { callback, is_behind } = found.value
      const is_ordered = DateTime.isGreaterThan(callback.received_at, ordered_since)
      const processing = handle({ ...callback, attempt: claimed.defects + 1, is_ordered })
      const isProcessed = inTurn({ ...callback, is_behind, is_ordered })(processing)
      return itemOf(
        claimed,
        Effect.flatMap(isProcessed, (isProcessed) => isProcessed ? finish(claimed) : wait(claimed))
      )
    })
  }

  return (handle: CallbackHandler): WorkLoop.Source => ({
    kind: "callback",
    in_progress_max,
    claim_min,
    is_shared: false,
    shutdown_time_max: Duration.zero,
    claim: Effect.fnUntraced(function*(options: Claim) {
      const claimed = yield* queue.claim(options)
      if (claimed.length === 0) return []
      const ordered_since = DateTime.subtractDuration(options.now, order_wait_max)
      const loading = yield* Effect.exit(callbacks.load(claimed, { now: options.now, ordered_since }))
      // Each fails, so that it does not stay claimed until its lease ends.
      if (Exit.isFailure(loading)) return claimed.map((work) => itemOf(work, loading))
      // IDs are in the order of receipt. A claim returns a retried body after later ones, which were due before it.
      const inOrder = Array.zip(claimed, loading.value).toSorted(([one], [other]) => one.ref < other.ref ? -1 : 1)
      return itemsOf(handle, ordered_since, inOrder)
    })
  })
})

/** Stores the bodies of callbacks, and processes them in the background. */
export class CallbackInbox extends Context.Service<CallbackInbox, {
  /** Stores the parts of a body. Once this returns, the callback can be acknowledged. */
  readonly store: (source: string, parts: ReadonlyArray<CallbackPart>) => Effect.Effect<void>
  /** Claims one batch of due bodies, processes them, and returns their number. */
  readonly runOnce: (handle: CallbackHandler) => Effect.Effect<number>
  /** Processes callbacks as they arrive. An interruption releases those in progress. */
  readonly run: (handle: CallbackHandler) => Effect.Effect<never>
  /** Updates the gauges of the inbox. */
  readonly measure: Effect.Effect<void>
}>()("@messaging-crm/core/CallbackInbox") {
  static readonly layer = Layer.effect(
    CallbackInbox,
    Effect.gen(function*() {
      const callbacks = yield* CallbackStore
      const loop = yield* WorkLoop.make
      const sourceOf = yield* makeSource

      const measure = Effect.gen(function*() {
        const now = yield* DateTime.now
        const { count, oldest_received_at } = yield* callbacks.backlog
        const age = oldest_received_at === null ? 0 : Duration.toSeconds(DateTime.distance(oldest_received_at, now))
        yield* Metric.update(callbacks_waiting, count)
        yield* Metric.update(callbacks_age, age)
      }).pipe(Effect.withTracerEnabled(false))

      return CallbackInbox.of({
        store: yield* makeStore,
        runOnce: (handle) => Effect.withSpan(loop.runOnce(sourceOf(handle)), "CallbackInbox.runOnce"),
        run: (handle) => loop.run(sourceOf(handle)),
        measure
      })
    })
  )
}
