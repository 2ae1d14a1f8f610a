/** Slots: none is lost when a waiting caller is interrupted. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as ConcurrencyLimiter from "../src/middleware/ConcurrencyLimiter.ts"

/** Takes all turns of a holder until the gate opens. */
const busy = Effect.fnUntraced(function*(limiter: ReturnType<typeof ConcurrencyLimiter.make<string>>, at_once: number) {
  const gate = yield* Deferred.make<void>()
  const running = yield* Effect.forEach(
    Array.from({ length: at_once }),
    () => Effect.forkChild(limiter.run("one", Deferred.await(gate)), { startImmediately: true })
  )
  /** Opens the gate: with it, the turns are given to those that wait. */
  const openUnsafe = () => void Deferred.doneUnsafe(gate, Effect.void)
  const open = Effect.andThen(Effect.sync(openUnsafe), Effect.forEach(running, Fiber.join))
  return { open, openUnsafe }
})

it.live("are given in order, and those of one holder do not delay another", () =>
  Effect.gen(function*() {
    const limiter = ConcurrencyLimiter.make(2)
    const { open } = yield* busy(limiter, 2)
    const order: Array<number> = []
    const waiting = yield* Effect.forEach(
      [0, 1, 2, 3, 4, 5],
      (number) =>
        Effect.forkChild(limiter.run("one", Effect.sync(() => void order.push(number))), { startImmediately: true })
    )
    assert.deepStrictEqual(order, [])
    assert.strictEqual(yield* limiter.run("other", Effect.succeed("done")), "done")
    yield* open
    yield* Effect.forEach(waiting, Fiber.join)
    assert.deepStrictEqual(order, [0, 1, 2, 3, 4, 5])
  }))

it.live("are not lost with those that give up, before their turn or in it or when they are given it", () =>
  Effect.gen(function*() {
    const limiter = ConcurrencyLimiter.make(1)
    for (const isGiven of [false, true]) {
      const { openUnsafe } = yield* busy(limiter, 1)
      let ran = ""
      const leaving = yield* Effect.forkChild(limiter.run("one", Effect.sync(() => void (ran += "a"))), {
        startImmediately: true
      })
      const staying = yield* Effect.forkChild(limiter.run("one", Effect.sync(() => void (ran += "b"))), {
        startImmediately: true
      })
      if (isGiven) openUnsafe()
      leaving.interruptUnsafe()
      if (!isGiven) openUnsafe()
      yield* Fiber.join(staying)
      assert.strictEqual(ran, "b")
    }
    const inside = yield* Effect.forkChild(limiter.run("one", Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(inside)
    yield* Effect.scoped(limiter.acquire("one"))
    const held = yield* Effect.forkChild(Effect.scoped(Effect.andThen(limiter.acquire("one"), Effect.never)), {
      startImmediately: true
    })
    const waiting = yield* Effect.forkChild(Effect.scoped(limiter.acquire("one")), { startImmediately: true })
    yield* Fiber.interrupt(waiting)
    yield* Fiber.interrupt(held)
    assert.strictEqual(yield* limiter.run("one", Effect.succeed("done")), "done")
  }))

it.live("reach the end of a long line", () =>
  Effect.gen(function*() {
    const limiter = ConcurrencyLimiter.make(1)
    const { open } = yield* busy(limiter, 1)
    const waiting = yield* Effect.forEach(
      Array.from({ length: 5000 }, (_, number) => number),
      (number) => Effect.forkChild(limiter.run("one", Effect.succeed(number)), { startImmediately: true })
    )
    yield* open
    assert.lengthOf(yield* Effect.forEach(waiting, Fiber.join), 5000)
  }))

it.live("stay those of a holder that has some in use, while ten thousand others do", () =>
  Effect.gen(function*() {
    const limiter = ConcurrencyLimiter.make(2)
    const start = (key: string, work: Effect.Effect<void>) =>
      Effect.forkChild(limiter.run(key, work), { startImmediately: true })
    const others = yield* Effect.forEach(
      Array.from({ length: 10_001 }, (_, number) => `other ${number}`),
      (key) => start(key, Effect.never)
    )
    const gate = yield* Deferred.make<void>()
    const first = yield* start("one", Deferred.await(gate))
    const second = yield* start("one", Effect.never)
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(first)
    let ran = 0
    const third = yield* start("one", Effect.andThen(Effect.sync(() => void ran++), Effect.never))
    const fourth = yield* start("one", Effect.sync(() => void ran++))
    assert.strictEqual(ran, 1)
    for (const fiber of [...others, second, third, fourth]) yield* Fiber.interrupt(fiber)
  }))
