/** The worker: claims due work of each kind, and executes it within the limits of each kind and organization. */
import { Context, DateTime, Duration, Effect, FiberSet, Layer, Random } from "effect"
import * as Housekeeping from "./Housekeeping.ts"
import { Ids, type OrganizationId } from "./kernel/Ids.ts"
import { logAndPause, pollPause } from "./kernel/Loops.ts"
import { Turns } from "./kernel/Turns.ts"
import { Dispatch } from "./messaging/outbound/Dispatch.ts"
import { makeExpansion } from "./webhooks/EventExpansion.ts"
import { WebhookDeliveryStore } from "./webhooks/WebhookDeliveries.ts"
import { WebhookDispatch } from "./webhooks/WebhookDispatch.ts"
import { WebhookReplays } from "./webhooks/WebhookReplays.ts"
import { makeMeasure } from "./work/BacklogMetrics.ts"
import { SecretCanary } from "./work/SecretCanary.ts"
import { type Item, makePerform } from "./work/WorkExecution.ts"
import { type Claim, type ClaimedWork, LeaseTime, WorkKind, WorkQueue, WorkSignal } from "./work/WorkQueue.ts"

/**
 * The maximum number of items of a kind that one worker executes at once.
 *
 * A claim takes items of one organization until it holds as many as are free. So a single organization gets half of them, two
 * get a third each, and some are always free for another.
 */
export const in_progress_max = 256
/**
 * The maximum number of items of one claim of the loop. All of them begin at once, without a pause for requests of the same
 * process.
 */
const claim_max = 16
/** The maximum number of items of each kind that `runOnce` claims. */
const batch_max = 64
/** How long a stopping worker waits for the items in progress. */
const shutdown_time_max = Duration.seconds(20)

const poll_millis = 250

/** How the items of each kind are claimed. */
type Claims = Readonly<Record<WorkKind, (options: Claim) => Effect.Effect<ReadonlyArray<Item>>>>

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
  /** The items that each organization holds. A claim takes no more items than are free, so that all of them begin at once. */
  readonly turns: Turns<OrganizationId>
}

const makeInProgress = Effect.fnUntraced(function*(kind: WorkKind) {
  const items = yield* FiberSet.make<void>()
  // Items run in the context that is captured here, not in that of the fiber that starts them.
  const run = yield* FiberSet.runtime(items)<never>()
  const inProgress: InProgress = { kind, items, run, turns: new Turns({ places: in_progress_max }) }
  return inProgress
})

/** Makes the functions that claim the items of each kind, each item with the operation that executes it. */
const makeClaims = Effect.gen(function*() {
  const deliveries = yield* WebhookDispatch
  const deliveryStore = yield* WebhookDeliveryStore
  const dispatch = yield* Dispatch
  const events = yield* makeExpansion
  const queue = yield* WorkQueue
  const replays = yield* WebhookReplays

  const claimFor =
    (attempt: (claimed: ClaimedWork) => Effect.Effect<void>, abandon: Item["abandon"]) => (options: Claim) =>
      Effect.map(
        queue.claim(options),
        (works) => works.map((claimed): Item => ({ claimed, execution: attempt(claimed), abandon }))
      )

  const claimDeliveries = (options: Claim) =>
    Effect.map(deliveryStore.claim(options), (claims) =>
      claims.map((delivery): Item => ({
        claimed: delivery.claimed,
        execution: deliveries.attempt(delivery),
        abandon: deliveries.abandon
      })))

  const claims: Claims = {
    send: claimFor(dispatch.attempt, dispatch.abandon),
    send_outcome: claimFor(dispatch.expireOutcome, dispatch.abandon),
    webhook_event: claimFor(events.expand, events.expandOrPostpone),
    webhook_delivery: claimDeliveries,
    webhook_replay: claimFor(replays.attempt, replays.abandon)
  }
  return claims
})

/** Makes the function that claims items of a kind for the time of a lease. */
const makeClaim = Effect.gen(function*() {
  const claims = yield* makeClaims
  const ids = yield* Ids
  const lease = yield* LeaseTime

  return Effect.fnUntraced(function*(
    kind: WorkKind,
    limit: number,
    fairness: Pick<Claim, "free" | "leased"> = {}
  ) {
    const now = yield* DateTime.now
    const lease_until = DateTime.addDuration(now, lease)
    return yield* claims[kind]({ ...fairness, kind, limit, now, lease_until, token: yield* ids.uuid })
  })
})

/** Makes the polling loop of a kind. Each kind has its own, so that much work of one kind does not delay another. */
const makeLoop = Effect.fnUntraced(function*(
  claim: Effect.Success<typeof makeClaim>,
  perform: Effect.Success<typeof makePerform>
) {
  const canary = yield* SecretCanary
  const signal = yield* WorkSignal

  const pause = Effect.fnUntraced(function*(kind: WorkKind) {
    const millis = poll_millis * (0.8 + 0.4 * (yield* Random.next))
    yield* pollPause(Effect.timeoutOption(signal.wait(kind), Duration.millis(millis)))
  })

  /** Claims as many items of a kind as the limits allow, starts them, and returns whether more may be due. */
  const fill = Effect.fnUntraced(function*({ kind, run, turns }: InProgress) {
    if (!(yield* canary.isReadable)) return false
    const { free, held } = turns
    if (free <= 0) return false
    const limit = Math.min(free, claim_max)
    // Uninterruptible: a claimed item that is not started would be blocked until its lease ends.
    return yield* Effect.uninterruptible(Effect.gen(function*() {
      // Without a span: the loop claims four times a second.
      const claimed = yield* Effect.withTracerEnabled(claim(kind, limit, { free, leased: held }), false)
      for (const item of claimed) {
        run(Effect.ensuring(turns.run(item.claimed.organization_id, perform(item)), signal.notify(kind)))
      }
      return claimed.length === limit
    }))
  })

  return (inProgress: InProgress) =>
    Effect.flatMap(fill(inProgress), (more) => more ? Effect.void : pause(inProgress.kind)).pipe(
      logAndPause("The worker"),
      Effect.forever
    )
})

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
      const claim = yield* makeClaim
      const housekeeping = yield* Housekeeping.make
      const perform = yield* makePerform
      const loop = yield* makeLoop(claim, perform)

      const runOnce = Effect.forEach(WorkKind.literals, (kind) =>
        Effect.tap(
          claim(kind, batch_max),
          Effect.forEach(perform, { concurrency: "unbounded", discard: true })
        )).pipe(Effect.map((claimed) => claimed.flat().length), Effect.withSpan("Worker.runOnce"))

      const run = Effect.gen(function*() {
        const kinds = yield* Effect.forEach(WorkKind.literals, makeInProgress)
        const allDone = Effect.forEach(kinds, ({ items }) => FiberSet.awaitEmpty(items), { discard: true })
        yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allDone), shutdown_time_max))
        yield* Effect.forkScoped(housekeeping)
        yield* Effect.forEach(kinds, loop, { concurrency: "unbounded", discard: true })
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
