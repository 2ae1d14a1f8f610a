import { assert, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeLargeBodySlots } from "../src/LargeBodySlots.ts"

/** Begins to acquire a slot, for as long as `use` runs. */
const start = (acquireSlot: Effect.Effect<void, never, Scope.Scope>, use: Effect.Effect<void>) =>
  Effect.forkChild(Effect.scoped(Effect.andThen(acquireSlot, use)), { startImmediately: true })

it.effect("a third body waits until one of two is verified", () =>
  Effect.gen(function*() {
    const acquireSlot = makeLargeBodySlots()
    const first = yield* start(acquireSlot, Effect.never)
    const second = yield* start(acquireSlot, Effect.never)
    const third = yield* start(acquireSlot, Effect.void)
    yield* TestClock.adjust("999 millis")
    assert.isUndefined(third.pollUnsafe())
    yield* Fiber.interrupt(first)
    yield* Fiber.join(third)
    assert.isUndefined(second.pollUnsafe())
  }))

it.effect("a body keeps its slot for a second at most, and releases it once", () =>
  Effect.gen(function*() {
    const acquireSlot = makeLargeBodySlots()
    const slow = yield* Effect.forEach([1, 2], () => start(acquireSlot, Effect.never))
    yield* TestClock.adjust("1 second")
    const others = yield* Effect.forEach([1, 2], () => start(acquireSlot, Effect.never))
    yield* Effect.forEach(slow, Fiber.interrupt)
    const last = yield* start(acquireSlot, Effect.void)
    yield* TestClock.adjust("999 millis")
    assert.isUndefined(last.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    yield* Fiber.join(last)
    yield* Effect.forEach(others, Fiber.interrupt)
  }))
