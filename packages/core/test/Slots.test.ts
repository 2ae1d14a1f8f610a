import { assert, it } from "@effect/vitest"
import * as Slots from "@messaging-crm/core/Slots"
import { Arbitrary, Deferred, Effect, Exit, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"

/** Takes a slot until it is let go, and waits for one for ten seconds. */
const taker = (slots: Slots.Slots<string>) =>
  Effect.fnUntraced(function*(key: string) {
    const [begun, may_end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const effect = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(may_end))
    const fiber = yield* Effect.forkChild(slots.withSlot(key, "10 seconds", effect), { startImmediately: true })
    const end = Effect.andThen(Deferred.succeed(may_end, undefined), Fiber.join(fiber))
    return { fiber, end, isIn: Deferred.isDone(begun) }
  })

it.effect("one key gets half of the slots, and another finds some", () =>
  Effect.gen(function*() {
    const take = taker(Slots.make<string>(8))
    const ours = yield* Effect.forEach(Array.from({ length: 9 }, () => "ours"), take)
    const theirs = yield* Effect.forEach(Array.from({ length: 9 }, () => "theirs"), take)
    const countIn = (all: typeof ours) =>
      Effect.map(Effect.forEach(all, ({ isIn }) => isIn), (ins) => ins.filter(Boolean).length)
    assert.deepStrictEqual([yield* countIn(ours), yield* countIn(theirs)], [4, 2])
    const [first] = ours
    assert.isDefined(first)
    yield* first.end
    assert.deepStrictEqual([yield* countIn(ours), yield* countIn(theirs)], [4, 3])
  }))

it.effect("a key gets as many again once its own have ended", () =>
  Effect.gen(function*() {
    const take = taker(Slots.make<string>(8))
    for (let times = 0; times < 3; times++) {
      const ours = yield* Effect.forEach(Array.from({ length: 4 }, () => "ours"), take)
      assert.deepStrictEqual(yield* Effect.forEach(ours, ({ isIn }) => isIn), [true, true, true, true])
      yield* Effect.forEach(ours, ({ end }) => end)
    }
  }))

it.effect("gives none after the wait, while another key gets one", () =>
  Effect.gen(function*() {
    const slots = Slots.make<string>(2)
    const take = taker(slots)
    const first = yield* take("a")
    const second = yield* take("a")
    assert.deepStrictEqual(yield* slots.withSlot("b", "10 seconds", Effect.succeed(1)), Option.some(1))
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(yield* second.end, Option.none())
    assert.deepStrictEqual(yield* first.end, Option.some(undefined))
  }))

const step = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })))

it.effect.prop(
  "loses no slot when an execution is interrupted, fails, waits in vain, or ends",
  { steps: Arbitrary.array(step, { minLength: 1, maxLength: 40 }) },
  ({ steps }) =>
    Effect.gen(function*() {
      const slots = Slots.make<string>(4)
      const take = taker(slots)
      const all: Array<Effect.Success<ReturnType<typeof take>>> = []
      for (const number of steps) {
        const one = all[number % Math.max(1, all.length)]
        if (number < 6 || one === undefined) all.push(yield* take(`${number % 3}`))
        else if (number < 8) yield* Fiber.interrupt(one.fiber)
        else if (number < 10) yield* Effect.forkChild(one.end, { startImmediately: true })
        else yield* TestClock.adjust("6 seconds")
        const inside = yield* Effect.forEach(all, ({ fiber, isIn }) =>
          Effect.map(isIn, (begun) => begun && fiber.pollUnsafe() === undefined))
        assert.isAtMost(inside.filter(Boolean).length, 4)
      }
      yield* Effect.forEach(all, ({ fiber }) =>
        Fiber.interrupt(fiber))
      const failed = yield* Effect.exit(slots.withSlot("a", "1 second", Effect.fail("no")))
      assert.isTrue(Exit.isFailure(failed))
      const keys = ["a", "b", "c", "d"]
      const last = yield* Effect.forEach(keys, take)
      assert.deepStrictEqual(yield* Effect.forEach(last, ({ isIn }) => isIn), [true, true, true, true])
    }),
  { arbitrary: { runs: 100 } }
)
