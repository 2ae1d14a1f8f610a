/**
 * The worker: claims work from the queue and executes it.
 */
import { Context, DateTime, Duration, Effect, FiberSet, Layer, Metric, Random } from "effect"
import * as Housekeeping from "./Housekeeping.ts"
import { Ids, type OrganizationId } from "./kernel/Ids.ts"
import { logAndPause, pollPause } from "./kernel/Loops.ts"
import { work_age, work_items } from "./kernel/Metrics.ts"
import * as Traces from "./kernel/Traces.ts"
import { Dispatch } from "./messaging/outbound/Dispatch.ts"
import { WebhookDeliveryStore } from "./webhooks/WebhookDeliveries.ts"
import { WebhookDispatch } from "./webhooks/WebhookDispatch.ts"
import { WebhookReplays } from "./webhooks/WebhookReplays.ts"
import * as Changes from "./work/Changes.ts"
import { Decide } from "./work/Decide.ts"
import { SecretCanary } from "./work/SecretCanary.ts"
import {
  type Backlog,
  type Claim,
  type ClaimedWork,
  LeaseTime,
  WorkKind,
  WorkQueue,
  WorkSignal
} from "./work/WorkQueue.ts"

/**
 * The maximum number of items of a kind that one worker executes at once.
 *
 * It executes at most as many items of one organization as there are free slots. So a single organization gets half of the
 * slots, two get a third each, and some are always free for another.
 */
export const in_progress_max = 256
/** The maximum number of items of one claim. */
const batch_max = 64
/** How long a stopping worker waits for the items in progress. */
const shutdown_time_max = Duration.seconds(20)

/**
 * For how many seconds an item is postponed after each defect. After the last it is abandoned: its send or delivery fails.
 *
 * Their sum is less than 90 seconds: that is how long the next send of the conversation waits.
 */
const defect_pauses = [2, 5, 10, 20, 40]

const poll_millis = 250

/** A claimed item, and its execution. */
interface Item {
  readonly claimed: ClaimedWork
  readonly execution: Effect.Effect<void>
}

/** How the items of a kind are claimed, each with its execution, and abandoned. */
interface Handler {
  readonly claim: (options: Claim) => Effect.Effect<ReadonlyArray<Item>>
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
}

type Handlers = Readonly<Record<WorkKind, Handler>>

/**
 * The items of a kind that a worker executes now.
 *
 * Each kind has its own limit, so that slow work of one kind does not delay another.
 */
interface InProgress {
  readonly kind: WorkKind
  readonly items: FiberSet.FiberSet<void>
  /** Starts an item. */
  readonly run: (item: Effect.Effect<void>) => void
  /** How many items of each organization there are. */
  readonly leased: Map<OrganizationId, number>
}

const makeInProgress = Effect.fnUntraced(function*(kind: WorkKind) {
  const items = yield* FiberSet.make<void>()
  // Items run in the context that is captured here, not in that of the fiber that starts them.
  const run = yield* FiberSet.runtime(items)<never>()
  const inProgress: InProgress = { kind, items, run, leased: new Map() }
  return inProgress
})

/** Counts an item of an organization until it has ended. */
const counted = (leased: InProgress["leased"], { organization_id }: ClaimedWork, item: Effect.Effect<void>) => {
  const add = (change: 1 | -1) => {
    const count = (leased.get(organization_id) ?? 0) + change
    if (count === 0) leased.delete(organization_id)
    else leased.set(organization_id, count)
  }
  add(1)
  return Effect.ensuring(item, Effect.sync(() => add(-1)))
}

const emptyBacklog = { due: 0, later: 0, leased: 0, oldest_due_at: null }

/** Returns how long ago the longest-waiting item became due, in seconds. */
const ageOf = ({ oldest_due_at }: Backlog, now: DateTime.Utc): number =>
  oldest_due_at === null ? 0 : Duration.toSeconds(DateTime.distance(oldest_due_at, now))

/** Makes the handlers of all kinds of work. */
const makeHandlers = Effect.gen(function*() {
  const deliveries = yield* WebhookDispatch
  const deliveryStore = yield* WebhookDeliveryStore
  const dispatch = yield* Dispatch
  const queue = yield* WorkQueue
  const replays = yield* WebhookReplays

  const claimFor = (attempt: (claimed: ClaimedWork) => Effect.Effect<void>) => (options: Claim) =>
    Effect.map(
      queue.claim(options),
      (all) => all.map((claimed): Item => ({ claimed, execution: attempt(claimed) }))
    )

  const handlers: Handlers = {
    send: { claim: claimFor(dispatch.attempt), abandon: dispatch.abandon },
    send_outcome: { claim: claimFor(dispatch.expireOutcome), abandon: dispatch.abandon },
    webhook_delivery: {
      claim: (options) =>
        Effect.map(
          deliveryStore.claim(options),
          (all) => all.map((delivery): Item => ({ claimed: delivery.claimed, execution: deliveries.attempt(delivery) }))
        ),
      abandon: deliveries.abandon
    },
    webhook_replay: { claim: claimFor(replays.attempt), abandon: replays.abandon }
  }
  return handlers
})

/** Makes the function that executes an item, and settles it whatever happens. */
const makePerform = Effect.fnUntraced(function*(handlers: Handlers) {
  const decide = yield* Decide

  const settle = (settlement: Changes.Settlement) =>
    decide.settle(settlement.claimed, {
      load: Effect.void,
      decide: () => ({ result: undefined, changes: Changes.settle(settlement) })
    })

  /**
   * Ends the send, delivery, or replay of an item that keeps causing defects.
   *
   * If that write fails, too, it is retried the same number of times. Then the item is dropped.
   */
  const abandon = (claimed: ClaimedWork) =>
    handlers[claimed.kind].abandon(claimed).pipe(
      Effect.catchDefect((defect) =>
        claimed.defects < 2 * defect_pauses.length
          ? recover(claimed, defect)
          : Effect.logError("Work item dropped: its failure could not be recorded", defect).pipe(
            Effect.andThen(settle({ claimed, outcome: "finish" }))
          )
      )
    )

  /** Counts a defect of an item, and postpones it. */
  const recover = Effect.fnUntraced(function*(claimed: ClaimedWork, defect: unknown) {
    const due_at = DateTime.add(yield* DateTime.now, {
      seconds: defect_pauses[claimed.defects % defect_pauses.length] ?? 0
    })
    yield* settle({ claimed, outcome: "defect", due_at })
    yield* Effect.logError("A work item failed with a defect", defect).pipe(
      Effect.annotateLogs({ defects: claimed.defects + 1 })
    )
  })

  /** An item whose defect cannot be recorded stays claimed. It can be claimed again when its lease has ended. */
  const perform = ({ claimed, execution }: Item) =>
    (claimed.defects < defect_pauses.length ? execution : abandon(claimed)).pipe(
      Effect.asVoid,
      Effect.onInterrupt(() => settle({ claimed, outcome: "release" })),
      Effect.catchDefect((defect) => recover(claimed, defect)),
      Effect.catchDefect((defect) => Effect.logError("Work item defect not recorded", defect)),
      // The span continues the trace that enqueued the item.
      Effect.withSpan(`Worker.${claimed.kind}`, {
        ...Traces.within(claimed.trace),
        kind: "consumer",
        attributes: { ref: claimed.ref, attempt: claimed.attempt }
      }),
      Effect.annotateLogs({ kind: claimed.kind, ref: claimed.ref, attempt: claimed.attempt })
    )

  return perform
})

/** Makes the effect that updates the gauges of the queue. */
const makeMeasure = WorkQueue.useSync((queue) =>
  Effect.gen(function*() {
    const now = yield* DateTime.now
    const found = yield* queue.backlog(now)
    // Work of a kind that this version does not support is left to a newer one, and counted here.
    for (const kind of new Set([...WorkKind.literals, ...found.map(({ kind }) => kind)])) {
      const backlog = found.find((each) => each.kind === kind) ?? { ...emptyBacklog, kind }
      for (const state of ["due", "later", "leased"] as const) {
        yield* Metric.update(Metric.withAttributes(work_items, { kind, state }), backlog[state])
      }
      yield* Metric.update(Metric.withAttributes(work_age, { kind }), ageOf(backlog, now))
    }
  }).pipe(Effect.withTracerEnabled(false))
)

/** Executes due work of every kind. */
export class Worker extends Context.Service<Worker, {
  /** Claims one batch of due work of each kind, executes it, and returns the number of items. */
  readonly runOnce: Effect.Effect<number>
  /**
   * Runs until it is interrupted. Then it claims nothing more, waits up to 20
   * seconds for the items in progress, and releases the claims of the others.
   */
  readonly run: Effect.Effect<never>
  /** Updates the gauges of the queue. */
  readonly measure: Effect.Effect<void>
}>()("@messaging-crm/core/Worker") {
  static readonly layer = Layer.effect(
    Worker,
    Effect.gen(function*() {
      const canary = yield* SecretCanary
      const handlers = yield* makeHandlers
      const housekeeping = yield* Housekeeping.make
      const ids = yield* Ids
      const lease = yield* LeaseTime
      const perform = yield* makePerform(handlers)
      const signal = yield* WorkSignal

      const claim = Effect.fnUntraced(function*(
        kind: WorkKind,
        limit: number,
        fairness: Pick<Claim, "leased" | "organization_max"> = {}
      ) {
        const now = yield* DateTime.now
        const lease_until = DateTime.addDuration(now, lease)
        return yield* handlers[kind].claim({ ...fairness, kind, limit, now, lease_until, token: yield* ids.uuid })
      })

      const runOnce = Effect.forEach(WorkKind.literals, (kind) =>
        Effect.tap(
          claim(kind, batch_max),
          Effect.forEach(perform, { concurrency: "unbounded", discard: true })
        )).pipe(Effect.map((claimed) => claimed.flat().length), Effect.withSpan("Worker.runOnce"))

      const pause = Effect.fnUntraced(function*(kind: WorkKind) {
        const millis = poll_millis * (0.8 + 0.4 * (yield* Random.next))
        yield* pollPause(Effect.timeoutOption(signal.wait(kind), Duration.millis(millis)))
      })

      /** Claims as many items of a kind as the limits allow, starts them, and returns whether more may be due. */
      const fill = Effect.fnUntraced(function*({ leased, items, kind, run }: InProgress) {
        if (!(yield* canary.isOpened)) return false
        const free = in_progress_max - (yield* FiberSet.size(items))
        if (free <= 0) return false
        const limit = Math.min(free, batch_max)
        // Uninterruptible: a claimed item that is not started would be blocked until its lease ends.
        return yield* Effect.uninterruptible(Effect.gen(function*() {
          // Without a span: the loop claims four times a second.
          const claimed = yield* Effect.withTracerEnabled(claim(kind, limit, { leased, organization_max: free }), false)
          for (const item of claimed) {
            run(Effect.ensuring(counted(leased, item.claimed, perform(item)), signal.notify(kind)))
          }
          return claimed.length === limit
        }))
      })

      /** The polling loop of one kind. Each kind has its own, so that much work of one kind does not delay another. */
      const loop = (inProgress: InProgress) =>
        Effect.flatMap(fill(inProgress), (more) => more ? Effect.void : pause(inProgress.kind)).pipe(
          logAndPause("The worker"),
          Effect.forever
        )

      const run = Effect.gen(function*() {
        const all = yield* Effect.forEach(WorkKind.literals, makeInProgress)
        const allDone = Effect.forEach(all, ({ items }) => FiberSet.awaitEmpty(items), { discard: true })
        yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allDone), shutdown_time_max))
        yield* Effect.forkScoped(housekeeping)
        yield* Effect.forEach(all, loop, { concurrency: "unbounded", discard: true })
        return yield* Effect.never
      }).pipe(Effect.scoped)

      return Worker.of({ runOnce, run, measure: yield* makeMeasure })
    })
  )

  /** Layer that runs the worker in the background, for the lifetime of the layer. */
  static readonly layerLoop = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run))
  )
}
