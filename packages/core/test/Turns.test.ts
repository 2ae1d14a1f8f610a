import { assert, it } from "@effect/vitest"
import { insertInOrder, Order, Turns } from "@messaging-crm/core/Turns"
import { Arbitrary, Deferred, Effect, Exit, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"

/** Takes a turn until it is let go, and waits for one for ten seconds. */
const taker = (turns: Turns<string>) =>
  Effect.fnUntraced(function*(key: string) {
    const [begun, may_end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const effect = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(may_end))
    const fiber = yield* Effect.forkChild(turns.runWithin(key, "10 seconds", effect), { startImmediately: true })
    const end = Effect.andThen(Deferred.succeed(may_end, undefined), Fiber.join(fiber))
    return { fiber, end, isIn: Deferred.isDone(begun) }
  })

it.effect("one key gets half of the places, and another finds some", () =>
  Effect.gen(function*() {
    const take = taker(new Turns<string>({ places: 8, share: "half" }))
    const ours = yield* Effect.forEach(Array.from({ length: 9 }, () => "ours"), take)
    const theirs = yield* Effect.forEach(Array.from({ length: 9 }, () => "theirs"), take)
    const countIn = (all: typeof ours) =>
      Effect.map(Effect.forEach(all, ({ isIn }) => isIn), (ins) => ins.filter(Boolean).length)
    assert.deepStrictEqual([yield* countIn(ours), yield* countIn(theirs)], [4, 2])
    const [first] = ours
    assert.isDefined(first)
    yield* first.end
    yield* Effect.yieldNow
    assert.deepStrictEqual([yield* countIn(ours), yield* countIn(theirs)], [4, 3])
  }))

it.effect("grants each key its first place at once, even if none is free", () =>
  Effect.gen(function*() {
    const take = taker(new Turns<string>({ places: 2, share: "half", isFirstGranted: true }))
    const first = yield* Effect.forEach(["a", "b", "c", "c"], take)
    assert.deepStrictEqual(yield* Effect.forEach(first, ({ isIn }) => isIn), [true, true, true, false])
    yield* Effect.forEach(first.slice(2, 3), ({ end }) => end)
    yield* Effect.yieldNow
    assert.deepStrictEqual(yield* Effect.forEach(first.slice(3), ({ isIn }) => isIn), [true])
  }))

it.effect("a key gets as many again once its own have ended", () =>
  Effect.gen(function*() {
    const take = taker(new Turns<string>({ places: 8, share: "half" }))
    for (let times = 0; times < 3; times++) {
      const ours = yield* Effect.forEach(Array.from({ length: 4 }, () => "ours"), take)
      assert.deepStrictEqual(yield* Effect.forEach(ours, ({ isIn }) => isIn), [true, true, true, true])
      yield* Effect.forEach(ours, ({ end }) => end)
    }
  }))

it.effect("gives none after the wait, while another key gets one", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: 2, share: "half" })
    const take = taker(turns)
    const first = yield* take("a")
    const second = yield* take("a")
    assert.deepStrictEqual(yield* turns.runWithin("b", "10 seconds", Effect.succeed(1)), Option.some(1))
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(yield* second.end, Option.none())
    assert.deepStrictEqual(yield* first.end, Option.some(undefined))
  }))

const step = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })))

it.effect.prop(
  "loses no place when an execution is interrupted, fails, waits in vain, or ends",
  { steps: Arbitrary.array(step, { minLength: 1, maxLength: 40 }) },
  ({ steps }) =>
    Effect.gen(function*() {
      const turns = new Turns<string>({ places: 4, share: "half" })
      const take = taker(turns)
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
      const failed = yield* Effect.exit(turns.runWithin("a", "1 second", Effect.fail("no")))
      assert.isTrue(Exit.isFailure(failed))
      const keys = ["a", "b", "c", "d"]
      const last = yield* Effect.forEach(keys, take)
      assert.deepStrictEqual(yield* Effect.forEach(last, ({ isIn }) => isIn), [true, true, true, true])
    }),
  { arbitrary: { runs: 100 } }
)

const weighted = Arbitrary.array(
  Arbitrary.schema(Schema.Struct({
    key: Schema.Literals(["a", "b", "c"]),
    weight: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
  })),
  { minLength: 1, maxLength: 60 }
)

it.prop(
  "serves waiting keys by weight, and each key in its own order",
  { requests: weighted },
  ({ requests }) => {
    const order = new Order<string>()
    const positions = requests.map(({ key, weight }, index) => ({
      key,
      weight,
      index,
      position: order.positionOf(key, weight)
    }))
    const served: Record<string, number> = { a: 0, b: 0, c: 0 }
    const left = { a: 0, b: 0, c: 0 }
    for (const { key } of requests) left[key]++
    for (const { key, weight } of positions.toSorted((x, y) => x.position - y.position || x.index - y.index)) {
      served[key] = (served[key] ?? 0) + weight
      left[key]--
      // No key with a waiting request falls behind another by more than the weight of one request.
      const waiting = (["a", "b", "c"] as const).filter((each) => left[each] > 0)
      for (const each of waiting) assert.isAtMost((served[key] ?? 0) - (served[each] ?? 0), 9)
    }
    for (const key of ["a", "b", "c"]) {
      const own = positions.filter((each) => each.key === key).map(({ position }) => position)
      assert.deepStrictEqual(own, own.toSorted((x, y) => x - y))
    }
  }
)

it.effect("serves a key that comes later before the rest of one that has asked for much", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: 1 })
    const begun: Array<string> = []
    const run = (key: string) =>
      Effect.forkChild(turns.run(key, Effect.andThen(Effect.sync(() => begun.push(key)), Effect.yieldNow)), {
        startImmediately: true
      })
    const fibers = yield* Effect.forEach(["a", "a", "a", "a", "b", "b"], run)
    yield* Effect.forEach(fibers, Fiber.join)
    assert.deepStrictEqual(begun, ["a", "a", "b", "a", "b", "a"])
  }))

/** Takes all turns of a key until the gate opens. */
const busy = Effect.fnUntraced(function*(turns: Turns<string>, at_once: number) {
  const gate = yield* Deferred.make<void>()
  const running = yield* Effect.forEach(
    Array.from({ length: at_once }),
    () => Effect.forkChild(turns.run("ours", Deferred.await(gate)), { startImmediately: true })
  )
  /** Opens the gate: with it, the turns are given to those that wait. */
  const openUnsafe = () => void Deferred.doneUnsafe(gate, Effect.void)
  const open = Effect.andThen(Effect.sync(openUnsafe), Effect.forEach(running, Fiber.join))
  return { open, openUnsafe }
})

it.live("serves a key in order, and those of one key do not delay another", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: Infinity, share: 2 })
    const { open } = yield* busy(turns, 2)
    const order: Array<number> = []
    const waiting = yield* Effect.forEach(
      [0, 1, 2, 3, 4, 5],
      (number) =>
        Effect.forkChild(turns.run("ours", Effect.sync(() => void order.push(number))), { startImmediately: true })
    )
    assert.deepStrictEqual(order, [])
    assert.strictEqual(yield* turns.run("theirs", Effect.succeed("done")), "done")
    yield* open
    yield* Effect.forEach(waiting, Fiber.join)
    assert.deepStrictEqual(order, [0, 1, 2, 3, 4, 5])
  }))

it.live("loses no turn of a request that is interrupted, before its turn or in it or when it is given", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: Infinity, share: 1 })
    for (const isGiven of [false, true]) {
      const { openUnsafe } = yield* busy(turns, 1)
      let ran = ""
      const leaving = yield* Effect.forkChild(turns.run("ours", Effect.sync(() => void (ran += "a"))), {
        startImmediately: true
      })
      const staying = yield* Effect.forkChild(turns.run("ours", Effect.sync(() => void (ran += "b"))), {
        startImmediately: true
      })
      if (isGiven) openUnsafe()
      leaving.interruptUnsafe()
      if (!isGiven) openUnsafe()
      yield* Fiber.join(staying)
      assert.strictEqual(ran, "b")
    }
    const inside = yield* Effect.forkChild(turns.run("ours", Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(inside)
    yield* Effect.scoped(turns.acquire("ours"))
    const held = yield* Effect.forkChild(Effect.scoped(Effect.andThen(turns.acquire("ours"), Effect.never)), {
      startImmediately: true
    })
    const waiting = yield* Effect.forkChild(Effect.scoped(turns.acquire("ours")), { startImmediately: true })
    yield* Fiber.interrupt(waiting)
    yield* Fiber.interrupt(held)
    assert.strictEqual(yield* turns.run("ours", Effect.succeed("done")), "done")
  }))

it.live("serves a long queue", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: Infinity, share: 1 })
    const { open } = yield* busy(turns, 1)
    const waiting = yield* Effect.forEach(
      Array.from({ length: 5000 }, (_, number) => number),
      (number) => Effect.forkChild(turns.run("ours", Effect.succeed(number)), { startImmediately: true })
    )
    yield* open
    assert.lengthOf(yield* Effect.forEach(waiting, Fiber.join), 5000)
  }))

it.live("counts the turns of a key while ten thousand others have some", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: Infinity, share: 2 })
    const start = (key: string, work: Effect.Effect<void>) =>
      Effect.forkChild(turns.run(key, work), { startImmediately: true })
    const others = yield* Effect.forEach(
      Array.from({ length: 10_001 }, (_, number) => `other ${number}`),
      (key) => start(key, Effect.never)
    )
    const gate = yield* Deferred.make<void>()
    const first = yield* start("ours", Deferred.await(gate))
    const second = yield* start("ours", Effect.never)
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(first)
    let ran = 0
    const third = yield* start("ours", Effect.andThen(Effect.sync(() => void ran++), Effect.never))
    const fourth = yield* start("ours", Effect.sync(() => void ran++))
    assert.strictEqual(ran, 1)
    for (const fiber of [...others, second, third, fourth]) yield* Fiber.interrupt(fiber)
  }))

it.effect("counts the requests that wait, of every key", () =>
  Effect.gen(function*() {
    const turns = new Turns<string>({ places: 1 })
    const take = taker(turns)
    assert.strictEqual(turns.waitingCount, 0)
    const [first, ...waiting] = yield* Effect.forEach(["a", "a", "b", "b"], take)
    assert.strictEqual(turns.waitingCount, 3)
    assert.isDefined(first)
    for (const [index, { end }] of [first, ...waiting].entries()) {
      yield* end
      yield* Effect.yieldNow
      assert.strictEqual(turns.waitingCount, Math.max(0, 2 - index))
    }
  }))

it("inserts a request into a list behind those of the same or an earlier position", () => {
  const list: Array<{ readonly position: number; readonly name: string }> = []
  for (const [position, name] of [[2, "a"], [1, "b"], [3, "c"], [2, "d"], [1, "e"], [4, "f"]] as const) {
    insertInOrder(list, { position, name })
  }
  assert.strictEqual(list.map(({ name }) => name).join(""), "beadcf")
})
