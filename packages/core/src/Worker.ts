/**
 * The worker: carries out what the queue holds. The only loop in core.
 */
import { Context, DateTime, Duration, Effect, FiberSet, Layer, Metric, Random, Schedule } from "effect"
import { Ids } from "./kernel/Ids.ts"
import { work_age, work_items } from "./kernel/Metrics.ts"
import * as Traces from "./kernel/Traces.ts"
import { Dispatch } from "./messaging/Dispatch.ts"
import { Messages } from "./messaging/Messages.ts"
import { WebhookDeliveries } from "./webhooks/WebhookDeliveries.ts"
import { Webhooks } from "./webhooks/Webhooks.ts"
import { Idempotency } from "./work/Idempotency.ts"
import { type Backlog, type ClaimedWork, LeaseTime, WorkKind, WorkQueue, WorkSignal } from "./work/WorkQueue.ts"

/** How many items of a kind one worker has in hand at once: enough for many endpoints that hang, at eight each. */
const in_hand_max = 256
/** How many items are claimed at a time. */
const batch_max = 64
/** How long items in hand may go on when the worker is told to stop. */
export const shutdown_time_max = Duration.seconds(20)

/** How many defects an item may meet before it ends in its own state. */
const defects_max = 5
/** How long an item waits after a defect. */
const defect_pause = Duration.seconds(30)

const poll_millis = 250
const sweep_interval = Duration.seconds(15)
const purge_interval = Duration.hours(1)

/** Logs a failure and waits a little, so that a database that is away is neither fatal nor hammered. */
const survive = (what: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(
    effect,
    (cause) => Effect.andThen(Effect.logError(`${what} failed`, cause), Effect.sleep("1 second"))
  )

/** What a worker has in hand of a kind. Each kind has its own places, so one whose work hangs holds no other up. */
interface Hand {
  readonly kind: WorkKind
  readonly items: FiberSet.FiberSet<void>
  /** Items that are carried out: false for those that are not settled yet, true for those that were since the last claim. */
  readonly spare: Map<ClaimedWork, boolean>
}

const emptyHand = (kind: WorkKind) =>
  Effect.map(FiberSet.make<void>(), (items): Hand => ({ kind, items, spare: new Map() }))

const emptyBacklog = { due: 0, later: 0, held: 0, oldest_due_at: null }

/** Returns for how many seconds work has waited for a worker. */
const ageOf = ({ oldest_due_at }: Backlog, now: DateTime.Utc): number =>
  oldest_due_at === null ? 0 : Duration.toSeconds(DateTime.distance(oldest_due_at, now))

/** Repeats what removes a batch until there is nothing left to remove. */
const untilNone = (purge: Effect.Effect<number>) => Effect.repeat(purge, { until: (removed) => removed === 0 })

export class Worker extends Context.Service<Worker, {
  /** Claims the work that is due, carries it out, and returns how many items there were. */
  readonly runOnce: Effect.Effect<number>
  /**
   * Works until it is interrupted. Then it claims nothing more, lets the items
   * in hand end for up to 20 seconds, and gives back those that did not.
   */
  readonly run: Effect.Effect<never>
  /** Brings the gauges of the queue up to date. */
  readonly measure: Effect.Effect<void>
}>()("@messaging-crm/core/Worker") {
  static readonly layer = Layer.effect(
    Worker,
    Effect.gen(function*() {
      const deliveries = yield* WebhookDeliveries
      const dispatch = yield* Dispatch
      const idempotency = yield* Idempotency
      const ids = yield* Ids
      const lease = yield* LeaseTime
      const messages = yield* Messages
      const queue = yield* WorkQueue
      const signal = yield* WorkSignal
      const webhooks = yield* Webhooks

      const claim = Effect.fnUntraced(function*(kind: WorkKind, limit: number, spare: ReadonlyArray<ClaimedWork>) {
        const now = yield* DateTime.now
        const lease_until = DateTime.addDuration(now, lease)
        return yield* queue.claim({ kind, limit, now, lease_until, token: yield* ids.uuid, spare })
      })

      const carryOut = (claimed: ClaimedWork, onSuccess: Effect.Effect<void>) => {
        switch (claimed.kind) {
          case "send":
            return dispatch.attempt(claimed)
          case "send_outcome":
            return dispatch.giveUp(claimed)
          case "webhook_delivery":
            return deliveries.attempt(claimed, onSuccess)
        }
      }

      /** Ends an item that no attempt can carry out, visibly where its own state can still be written. */
      const abandon = (claimed: ClaimedWork) =>
        (claimed.kind === "webhook_delivery" ? deliveries.abandon(claimed) : dispatch.abandon(claimed)).pipe(
          Effect.catchDefect((defect) =>
            Effect.logError("An item of work is dropped: its state cannot be written", defect).pipe(
              Effect.andThen(queue.finish(claimed))
            )
          )
        )

      /** A defect postpones its item; after a few, the item ends. */
      const recover = Effect.fnUntraced(function*(claimed: ClaimedWork, defect: unknown) {
        const due_at = DateTime.addDuration(yield* DateTime.now, defect_pause)
        const defects = yield* queue.recordDefect(claimed, due_at)
        yield* Effect.logError("An item of work died", defect).pipe(Effect.annotateLogs({ defects }))
      })

      /** An item whose defect cannot be recorded keeps its lease: when that ends, it is given out again. */
      const perform = (claimed: ClaimedWork, onSuccess = Effect.void) =>
        (claimed.defects < defects_max ? carryOut(claimed, onSuccess) : abandon(claimed)).pipe(
          Effect.asVoid,
          Effect.onInterrupt(() => queue.release(claimed)),
          Effect.catchDefect((defect) => recover(claimed, defect)),
          Effect.catchDefect((defect) => Effect.logError("A defect of work is not recorded", defect)),
          // The item goes on in the trace that queued it, which this loop is no part of.
          Effect.withSpan(`Worker.${claimed.kind}`, {
            ...Traces.within(claimed.trace),
            kind: "consumer",
            attributes: { ref: claimed.ref, attempt: claimed.attempt }
          }),
          Effect.annotateLogs({ kind: claimed.kind, ref: claimed.ref, attempt: claimed.attempt })
        )

      const runOnce = Effect.forEach(WorkKind.literals, (kind) =>
        Effect.tap(
          claim(kind, batch_max, []),
          Effect.forEach((claimed) => perform(claimed), { concurrency: "unbounded", discard: true })
        )).pipe(Effect.map((claimed) => claimed.flat().length), Effect.withSpan("Worker.runOnce"))

      const pause = Effect.fnUntraced(function*(kind: WorkKind) {
        const millis = poll_millis * (0.8 + 0.4 * (yield* Random.next))
        yield* Effect.timeoutOption(signal.wait(kind), Duration.millis(millis))
      })

      /** Carries out an item in hand. Its place in its lane is free once its endpoint took the event, before that is written. */
      const performInHand = ({ kind, spare }: Hand, item: ClaimedWork) => {
        const leave = (isSettled: boolean) =>
          Effect.andThen(Effect.sync(() => spare.set(item, isSettled)), signal.notify(kind))
        return Effect.ensuring(perform(item, leave(false)), leave(true))
      }

      /** Claims as many of a kind as there are places for, and returns whether there may be more. */
      const fill = Effect.fnUntraced(function*(hand: Hand) {
        const { items, kind, spare } = hand
        const free = Math.min(in_hand_max - (yield* FiberSet.size(items)), batch_max)
        if (free <= 0) return false
        // A claim that is not carried out would have to wait for its lease to end.
        return yield* Effect.uninterruptible(Effect.gen(function*() {
          const settled = Array.from(spare).flatMap(([item, isSettled]) => isSettled ? [item] : [])
          // Looking for work is not worth a trace, four times a second.
          const claimed = yield* Effect.withTracerEnabled(claim(kind, free, Array.from(spare.keys())), false)
          for (const item of settled) spare.delete(item)
          yield* Effect.forEach(claimed, (item) => FiberSet.run(items, Effect.interruptible(performInHand(hand, item))))
          return claimed.length === free
        }))
      })

      /** Each kind has a loop of its own: finding much of one takes no time from the others. */
      const loop = (hand: Hand) =>
        Effect.flatMap(fill(hand), (more) => more ? Effect.void : pause(hand.kind)).pipe(
          survive("The worker"),
          Effect.forever
        )

      const housekeeping = Effect.all([
        Effect.flatMap(DateTime.now, queue.sweep).pipe(
          survive("The sweep"),
          Effect.repeat(Schedule.spaced(sweep_interval))
        ),
        // One that fails leaves the others their turn.
        Effect.forEach(
          [untilNone(idempotency.purge), untilNone(deliveries.purge), untilNone(messages.purge), webhooks.reseal],
          survive("The purge"),
          { discard: true }
        ).pipe(Effect.repeat(Schedule.spaced(purge_interval)))
      ], { concurrency: "unbounded", discard: true }).pipe(Effect.withTracerEnabled(false))

      const run = Effect.gen(function*() {
        const hands = yield* Effect.forEach(WorkKind.literals, emptyHand)
        const allDone = Effect.forEach(hands, ({ items }) => FiberSet.awaitEmpty(items), { discard: true })
        yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allDone), shutdown_time_max))
        yield* Effect.forkScoped(housekeeping)
        yield* Effect.forEach(hands, loop, { concurrency: "unbounded", discard: true })
        return yield* Effect.never
      }).pipe(Effect.scoped)

      const measure = Effect.gen(function*() {
        const now = yield* DateTime.now
        const found = yield* queue.backlog(now)
        for (const kind of WorkKind.literals) {
          const backlog = found.find((each) => each.kind === kind) ?? { ...emptyBacklog, kind }
          for (const state of ["due", "later", "held"] as const) {
            yield* Metric.update(Metric.withAttributes(work_items, { kind, state }), backlog[state])
          }
          yield* Metric.update(Metric.withAttributes(work_age, { kind }), ageOf(backlog, now))
        }
      }).pipe(Effect.withTracerEnabled(false))

      return Worker.of({ runOnce, run, measure })
    })
  )

  /** Layer that runs the worker in the background for as long as it is held. */
  static readonly layerLoop = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run))
  )
}
