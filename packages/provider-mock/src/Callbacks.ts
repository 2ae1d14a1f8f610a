import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { Effect, Layer, Queue } from "effect"
import { MockProvider } from "./index.ts"

/** How long a stop waits for what the network in this process still has to tell. */
const farewell_time_max = "2 seconds"

/**
 * Layer that carries home what the network in this process has to tell, as its callbacks would over HTTP.
 *
 * An event that cannot be taken in is told again, and a stop hears the network
 * out: it ends with the process, so nobody could be told later.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const inbound = yield* Inbound
  const { callbacks, report, told } = yield* MockProvider

  const receive = (event: ProviderEvent) => Effect.ignore(inbound.receive(event))

  /** Once taken from the network an event is nowhere else: what does not get home goes back to it. */
  const carry = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(Queue.take(callbacks)), (event) =>
      restore(receive(event)).pipe(
        Effect.onInterrupt(() => report(event)),
        Effect.catchDefect(() => Effect.andThen(report(event), restore(Effect.sleep("200 millis"))))
      ))
  )

  yield* Effect.addFinalizer(() =>
    told.pipe(
      Effect.andThen(Queue.clear(callbacks)),
      Effect.flatMap((events) => Effect.forEach(events, receive, { discard: true })),
      Effect.interruptible,
      Effect.timeoutOption(farewell_time_max),
      Effect.ignoreCause
    )
  )
  yield* Effect.forever(carry).pipe(
    Effect.replicateEffect(4, { concurrency: "unbounded", discard: true }),
    Effect.forkScoped
  )
}))
