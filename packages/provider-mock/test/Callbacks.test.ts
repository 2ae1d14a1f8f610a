/** The callbacks of a mock network in the same process. */
import { assert, it } from "@effect/vitest"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import * as MockProvider from "@messaging-crm/provider-mock"
import * as Callbacks from "@messaging-crm/provider-mock/Callbacks"
import { Deferred, Effect, Layer, Ref, Result } from "effect"
import { deliver, delivery, kindOf } from "./Deliveries.ts"

/** Layer of a network in the same process that passes its events to a function. */
const networkThatCalls = (receive: (event: ProviderEvent) => Effect.Effect<void>) =>
  Callbacks.layer.pipe(Layer.provide(Layer.mock(Inbound, { receive })), Layer.provideMerge(MockProvider.layer))

/** Delivers one message to a number that replies, stops at `time`, and returns the events received by then. */
const receivedFrom = (receive: (event: ProviderEvent) => Effect.Effect<void>, time: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const received = yield* Ref.make<ReadonlySet<string>>(new Set())
    const network = networkThatCalls((event) =>
      Effect.andThen(receive(event), Ref.update(received, (kinds) => new Set([...kinds, kindOf(event)])))
    )
    const delivered = Effect.tap(deliver(delivery("+4915112340007")), time)
    assert.isTrue(Result.isSuccess(yield* Effect.provide(delivered, network)))
    return Array.from(yield* Ref.get(received)).toSorted()
  })

it.live("a stop delivers the pending callbacks", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* receivedFrom(() => Effect.void, Effect.void), ["delivered", "read", "sent", "text"])
  }))

it.live("a stop does not wait for long when no callback is accepted", () =>
  Effect.gen(function*() {
    const hasStarted = yield* Deferred.make<void>()
    const hang = () => Effect.andThen(Deferred.succeed(hasStarted, undefined), Effect.never)
    assert.deepStrictEqual(yield* receivedFrom(hang, Deferred.await(hasStarted)), [])
  }))

it.live("a callback that was not accepted is repeated", () =>
  Effect.gen(function*() {
    const rejected = new Set<string>()
    const isRepeated = { sent: yield* Deferred.make<void>(), delivered: yield* Deferred.make<void>() }
    const rejectFirst = (event: ProviderEvent) =>
      Effect.suspend(() => {
        const kind = kindOf(event)
        if (!rejected.has(kind)) {
          rejected.add(kind)
          return Effect.die("The database is unavailable.")
        }
        return kind === "sent" || kind === "delivered" ? Deferred.succeed(isRepeated[kind], undefined) : Effect.void
      })
    yield* Effect.gen(function*() {
      assert.isTrue(Result.isSuccess(yield* deliver(delivery("+4915112340001"))))
      yield* Deferred.await(isRepeated.sent)
      yield* Deferred.await(isRepeated.delivered)
    }).pipe(Effect.provide(networkThatCalls(rejectFirst)))
  }))
