/**
 * Callback inbox: stores the bodies that networks post until they are processed.
 *
 * A network gets its response once the body is stored, so it neither waits for the
 * processing nor retries. Any process then claims the bodies. Processing one again
 * changes nothing: if a lease ends first, two processes can do it.
 *
 * A body is not a kind of work: `Commit` enqueues work for one organization, and
 * a body can belong to no organization, because its channel is not connected.
 */
import { Array, Context, DateTime, Duration, Effect, FiberSet, Latch, Layer, Metric } from "effect"
import { type ChannelId, Ids } from "../../kernel/Ids.ts"
import { logAndPause, pollPause } from "../../kernel/Loops.ts"
import { callbacks_age, callbacks_waiting } from "../../kernel/Metrics.ts"
import type { Timestamp } from "../../kernel/Timestamps.ts"
import { traced } from "../../kernel/Traces.ts"
import { SecretCanary } from "../../work/SecretCanary.ts"
import { LeaseTime } from "../../work/WorkQueue.ts"
import { order_wait_max } from "./ProviderEventOrder.ts"

// ---------------------------------------------------------------- data

/** A body that concerns one group of people on one channel. The provider's adapter splits combined callbacks. */
export interface CallbackPart {
  /** The channel; null where the body belongs to none that is connected. */
  readonly channel_id: ChannelId | null
  /** The IDs of its senders and recipients, without a plus sign. An erasure finds the body by them. */
  readonly people: ReadonlyArray<string>
  readonly body: Uint8Array
}

export interface StoredCallback extends CallbackPart {
  /** A uuid, later ones greater. */
  readonly id: string
  /** The sender in terms of the provider's package, such as the ID of the app that signed the body. */
  readonly source: string
  readonly received_at: Timestamp
}

/** A body that one process has claimed until its lease ends. */
export interface ClaimedCallback extends Omit<StoredCallback, "people"> {
  /** The number of claims of the body, including this one. */
  readonly attempt: number
  /** The ID of this claim. A later claim of the body has another one. */
  readonly token: string
}

/** The bodies that are not processed yet. */
export interface CallbackBacklog {
  readonly count: number
  /** When the oldest was received; null without bodies. */
  readonly oldest_received_at: Timestamp | null
}

// ----------------------------------------------------------- decisions

const pause_max = Duration.minutes(10)

/**
 * Returns the pause after a failed attempt to process a body: one second, then twice as long each time, up to ten minutes.
 * The body never expires.
 */
export const pauseAfter = (attempt: number): Duration.Duration =>
  Duration.min(Duration.seconds(2 ** Math.min(attempt - 1, 20)), pause_max)

// ---------------------------------------------------------------- port

/**
 * Port: where bodies of callbacks are kept.
 *
 * **Contract** (checked by `conformance/Ports/CallbackInbox.ts`)
 *
 * - `insert` returns once all bodies are durable, or none is; they are due at once.
 * - `claim` returns at most `limit` bodies that are due, with their bytes unchanged. Organizations take
 *   turns, so that many bodies of one do not delay those of another. The bodies of each are in the order
 *   of their due times, then by id. Of concurrent claims one gets a body, and after `lease_until` another can.
 * - `claim` leaves a body out while an earlier one of its channel and of one of its people is claimed or postponed, and
 *   was received after `ordered_since`. Without that time, none is left out.
 * - `finish` removes a body, claimed or not.
 * - `postpone` makes a body due later; it changes nothing if a later claim has the body.
 * - `backlog` counts all bodies that are not finished, claimed or not.
 */
export class CallbackStore extends Context.Service<CallbackStore, {
  readonly insert: (callbacks: Array.NonEmptyReadonlyArray<StoredCallback>) => Effect.Effect<void>
  readonly claim: (options: {
    readonly limit: number
    readonly now: Timestamp
    readonly lease_until: Timestamp
    readonly ordered_since?: Timestamp
    readonly token: string
  }) => Effect.Effect<ReadonlyArray<ClaimedCallback>>
  readonly finish: (id: string) => Effect.Effect<void>
  readonly postpone: (claimed: ClaimedCallback, due_at: Timestamp) => Effect.Effect<void>
  readonly backlog: Effect.Effect<CallbackBacklog>
}>()("@messaging-crm/core/CallbackInbox/CallbackStore") {}

// ---------------------------------------------------------- operations

/** The maximum number of bodies that one process has in progress. Each can have 4 MB. */
const in_progress_max = 16
const poll_time = Duration.millis(250)

/**
 * With a backlog, the next claim waits for `free_min` free slots, at most 20 ms: a claim per slot would cost as much as
 * processing the body.
 */
const [free_min, claim_interval_max] = [in_progress_max / 2, Duration.millis(20)]

/** Processes one body. If it dies, the body is kept and retried. */
export type CallbackHandler = (callback: ClaimedCallback) => Effect.Effect<void>

const makeClaim = Effect.gen(function*() {
  const callbacks = yield* CallbackStore
  const ids = yield* Ids
  const lease = yield* LeaseTime

  return Effect.fnUntraced(function*(limit: number) {
    const now = yield* DateTime.now
    const lease_until = DateTime.addDuration(now, lease)
    const ordered_since = DateTime.subtractDuration(now, order_wait_max)
    const claimed = yield* callbacks.claim({ limit, now, lease_until, ordered_since, token: yield* ids.uuid })
    // A postponed body is processed before the later ones of the same person, which were due before it.
    return claimed.toSorted((one, other) => one.id < other.id ? -1 : 1)
  })
})

/** Makes the function that processes a claimed body, and finishes or postpones it. */
const makeProcess = Effect.gen(function*() {
  const callbacks = yield* CallbackStore

  const postpone = Effect.fnUntraced(function*(claimed: ClaimedCallback, pause: Duration.Duration) {
    yield* callbacks.postpone(claimed, DateTime.addDuration(yield* DateTime.now, pause))
  })

  return (handle: CallbackHandler) => (claimed: ClaimedCallback) =>
    Effect.andThen(handle(claimed), callbacks.finish(claimed.id)).pipe(
      Effect.onInterrupt(() => postpone(claimed, Duration.zero)),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logWarning("Callback processing failed; retry scheduled", defect),
          postpone(claimed, pauseAfter(claimed.attempt))
        )
      ),
      // If that cannot be written either, the body can be claimed again when the lease has ended.
      Effect.catchDefect((defect) => Effect.logError("Callback retry not scheduled", defect)),
      Effect.annotateLogs({ callback_id: claimed.id, attempt: claimed.attempt })
    )
})

/** Makes the loop that claims and processes bodies. `arrived` opens when a body is stored in this process. */
const makeLoop = Effect.fnUntraced(function*(arrived: Latch.Latch) {
  const canary = yield* SecretCanary
  const claim = yield* makeClaim
  const processCallback = yield* makeProcess

  return Effect.fnUntraced(
    function*(handle: CallbackHandler) {
      const inProgress = yield* FiberSet.make<void>()
      const freed = Latch.makeUnsafe(false)
      let free = in_progress_max

      const start = (claimed: ClaimedCallback) =>
        FiberSet.run(
          inProgress,
          Effect.interruptible(processCallback(handle)(claimed)).pipe(
            Effect.ensuring(Effect.suspend(() => ++free >= free_min ? freed.open : Effect.void))
          )
        )

      /** Claims as many bodies as there are free slots, starts them, and returns whether more may be due. */
      const fill = Effect.gen(function*() {
        const limit = free
        if (limit === 0) return true
        if (!(yield* canary.isReadable)) return false
        yield* arrived.close
        const claimed = yield* Effect.withTracerEnabled(claim(limit), false)
        free -= claimed.length
        if (free < free_min) yield* freed.close
        yield* Effect.forEach(claimed, start)
        return claimed.length === limit
      })

      // Uninterruptible: a claimed body that is not started would wait for its lease to end.
      const fillAndWait = Effect.flatMap(Effect.uninterruptible(fill), (isMoreDue) =>
        isMoreDue
          ? Effect.timeoutOption(freed.await, claim_interval_max)
          : pollPause(Effect.timeoutOption(arrived.await, poll_time)))
      return yield* fillAndWait.pipe(logAndPause("The callback inbox"), Effect.forever)
    },
    Effect.scoped
  )
})

/** Stores the bodies of callbacks, and processes them in the background. */
export class CallbackInbox extends Context.Service<CallbackInbox, {
  /** Stores the parts of a body, all or none. Once this returns, the callback can be acknowledged. */
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
      const arrived = Latch.makeUnsafe(false)
      const callbacks = yield* CallbackStore
      const claim = yield* makeClaim
      const ids = yield* Ids
      const processCallback = yield* makeProcess

      const store = traced("CallbackInbox.store")(function*(source: string, parts: ReadonlyArray<CallbackPart>) {
        const received_at = yield* DateTime.now
        const stored = yield* Effect.forEach(
          parts,
          (part) => Effect.map(ids.uuid, (id): StoredCallback => ({ ...part, id, source, received_at }))
        )
        if (!Array.isReadonlyArrayNonEmpty(stored)) return
        yield* callbacks.insert(stored)
        yield* arrived.open
      })

      const runOnce = traced("CallbackInbox.runOnce")(function*(handle: CallbackHandler) {
        const claimed = yield* claim(in_progress_max)
        yield* Effect.forEach(claimed, processCallback(handle), { concurrency: "unbounded", discard: true })
        return claimed.length
      })

      const measure = Effect.gen(function*() {
        const now = yield* DateTime.now
        const { count, oldest_received_at } = yield* callbacks.backlog
        const age = oldest_received_at === null ? 0 : Duration.toSeconds(DateTime.distance(oldest_received_at, now))
        yield* Metric.update(callbacks_waiting, count)
        yield* Metric.update(callbacks_age, age)
      }).pipe(Effect.withTracerEnabled(false))

      return CallbackInbox.of({ store, runOnce, run: yield* makeLoop(arrived), measure })
    })
  )
}
