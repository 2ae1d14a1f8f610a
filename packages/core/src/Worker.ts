/** The worker: executes due work of each kind, except callbacks, which only the package of their network can read. */
import { Context, Duration, Effect, Layer, Struct } from "effect"
import { WebhookDeliveryStore } from "./deliveries/WebhookDeliveries.ts"
import { WebhookDispatch } from "./deliveries/WebhookDispatch.ts"
import { makeExpand } from "./events/Events.ts"
import * as Housekeeping from "./Housekeeping.ts"
import { WebhookReplays } from "./replays/WebhookReplays.ts"
import { Dispatch } from "./sends/Dispatch.ts"
import { makeMeasure } from "./work/BacklogMetrics.ts"
import type { Item } from "./work/WorkLoop.ts"
import * as WorkLoop from "./work/WorkLoop.ts"
import { type Claim, type ClaimedWork, type WorkKind, WorkQueue } from "./work/WorkQueue.ts"

/** The maximum number of items of a kind that one worker executes at once. */
export const in_progress_max = 256
/** How long a stopping worker waits for the items in progress. */
const shutdown_time_max = Duration.seconds(20)

/** How the items of each kind are claimed. */
type Claims = Readonly<Record<Exclude<WorkKind, "callback">, WorkLoop.Source["claim"]>>

/** Makes the functions that claim the items of each kind, each item with the operation that executes it. */
const makeSources = Effect.gen(function*() {
  const deliveries = yield* WebhookDispatch
  const deliveryStore = yield* WebhookDeliveryStore
  const dispatch = yield* Dispatch
  const expand = yield* makeExpand
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
    webhook_event: claimFor(expand, null),
    webhook_delivery: claimDeliveries,
    webhook_replay: claimFor(replays.attempt, replays.abandon)
  }
  return Struct.keys(claims).map((kind): WorkLoop.Source => ({
    kind,
    claim: claims[kind],
    claim_min: 1,
    is_shared: true,
    in_progress_max,
    shutdown_time_max
  }))
})

/** Executes due work of every kind except callbacks. */
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
      const housekeeping = yield* Housekeeping.make
      const loop = yield* WorkLoop.make
      const sources = yield* makeSources

      return Worker.of({
        runOnce: Effect.forEach(sources, loop.runOnce).pipe(
          Effect.map((counts) => counts.reduce((sum, count) => sum + count, 0)),
          Effect.withSpan("Worker.runOnce")
        ),
        run: Effect.all([housekeeping, ...sources.map(loop.run)], { concurrency: "unbounded", discard: true }).pipe(
          Effect.andThen(Effect.never)
        ),
        measure: yield* makeMeasure
      })
    })
  )

  /** Layer that runs the worker in the background, for the lifetime of the layer. */
  static readonly layerLoop = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run))
  )
}
