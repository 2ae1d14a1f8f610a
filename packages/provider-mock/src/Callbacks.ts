import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { Effect, Layer, Queue } from "effect"
import { MockProvider } from "./MockProvider.ts"

/** How long a stop waits for the pending callbacks. */
const stop_time_max = "2 seconds"

/**
 * Layer that passes the callbacks of a network in the same process to core, instead of HTTP.
 *
 * An event that core cannot store now is queued again. A stop first delivers the
 * pending callbacks, because the network ends with the process.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const inbound = yield* Inbound
  const { callbacks, emit, settled } = yield* MockProvider

  /** Stores an event. Repeating one of an unknown channel would not help. */
  const receive = (event: ProviderEvent) =>
    inbound.receive(event).pipe(Effect.catchTag("ChannelUnknown", () => Effect.void), Effect.orDie)

  /** Requeues an event unless core has stored it, because the queue is its only copy. */
  const deliver = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(Queue.take(callbacks)), (event) =>
      restore(receive(event)).pipe(
        Effect.onInterrupt(() => emit(event)),
        Effect.catchDefect((defect) =>
          Effect.logWarning("Callback not stored; it is repeated", defect).pipe(
            Effect.andThen(emit(event)),
            Effect.andThen(restore(Effect.sleep("200 millis")))
          )
        )
      ))
  )

  yield* Effect.addFinalizer(() =>
    settled.pipe(
      Effect.andThen(Queue.clear(callbacks)),
      // A defect of one event does not keep the others.
      Effect.flatMap(Effect.forEach((event) => Effect.ignoreCause(receive(event)), { discard: true })),
      Effect.interruptible,
      Effect.timeoutOption(stop_time_max)
    )
  )
  yield* Effect.forever(deliver).pipe(
    Effect.replicateEffect(4, { concurrency: "unbounded", discard: true }),
    Effect.forkScoped
  )
}))
