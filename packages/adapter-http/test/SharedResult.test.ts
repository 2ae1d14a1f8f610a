/** Results that all clients share: made once, in spite of clients that hang up, and made again after a failure. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as SharedResult from "../src/SharedResult.ts"

/** A result that counts how often it was made. */
const counting = <A, E>(result: (count: number) => Effect.Effect<A, E>) => {
  const made = { count: 0 }
  return { made, result: Effect.suspend(() => result(++made.count)) }
}

const ends = {
  fails: Effect.fail("Not now"),
  dies: Effect.die(new Error("Not now")),
  "is interrupted": Effect.interrupt
}

for (const [name, end] of Object.entries(ends)) {
  it.effect(`is made again if the first attempt ${name}, and then shared`, () =>
    Effect.gen(function*() {
      const { made, result } = counting((count): Effect.Effect<number, string> => count === 1 ? end : Effect.succeed(7))
      const shared = yield* SharedResult.make(result)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(shared)))
      assert.strictEqual(yield* shared, 7)
      assert.strictEqual(yield* shared, 7)
      assert.strictEqual(made.count, 2)
    }))
}

it.effect("is made once for concurrent clients, even if the first hangs up", () =>
  Effect.gen(function*() {
    const done = yield* Deferred.make<number>()
    const { made, result } = counting(() => Deferred.await(done))
    const shared = yield* SharedResult.make(result)
    const first = yield* Effect.forkChild(shared, { startImmediately: true })
    yield* Effect.yieldNow
    yield* Fiber.interrupt(first)
    const others = yield* Effect.forkChild(Effect.all([shared, shared], { concurrency: "unbounded" }))
    yield* Deferred.succeed(done, 7)
    assert.deepStrictEqual(yield* Fiber.join(others), [7, 7])
    assert.strictEqual(made.count, 1)
  }))

it.effect("is made again after its time", () =>
  Effect.gen(function*() {
    const shared = yield* SharedResult.make(counting(Effect.succeed).result, "1 second")
    assert.deepStrictEqual([yield* shared, yield* shared], [1, 1])
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual([yield* shared, yield* shared], [2, 2])
  }))
