import { assert, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { Directory } from "../../src/cells/Directory.ts"

/** A cell that counts how often it is asked. */
class TestCell {
  asked = 0
  readonly has = new Set<string>()
  isDown = false
}

const make = () => {
  const cells = [new TestCell(), new TestCell(), new TestCell()] as const
  const directory = new Directory<string, TestCell>(cells)
  const find = (key: string) =>
    Effect.map(
      directory.find(key, (cell) =>
        Effect.suspend(() => {
          cell.asked++
          // As a database does, a cell responds later.
          return Effect.yieldNow
        }).pipe(Effect.andThen(Effect.suspend(() => {
          if (cell.isDown) return Effect.die(new Error("The cell is down"))
          return Effect.succeed(cell.has.has(key) ? Option.some(key) : Option.none())
        })))),
      Option.match({ onNone: () => null, onSome: ({ cell }) => cells.indexOf(cell) })
    )
  return { cells, directory, find }
}

it.effect("asks every cell for a new key, and then only the one that has it", () =>
  Effect.gen(function*() {
    const { cells, find } = make()
    cells[1].has.add("a")
    assert.strictEqual(yield* find("a"), 1)
    assert.deepStrictEqual(cells.map(({ asked }) => asked), [1, 1, 1])
    assert.strictEqual(yield* find("a"), 1)
    assert.deepStrictEqual(cells.map(({ asked }) => asked), [1, 2, 1])
    assert.isNull(yield* find("b"))
  }))

it.effect("finds what has moved to another cell", () =>
  Effect.gen(function*() {
    const { cells, find } = make()
    cells[0].has.add("a")
    assert.strictEqual(yield* find("a"), 0)
    cells[0].has.delete("a")
    cells[2].has.add("a")
    assert.strictEqual(yield* find("a"), 2)
    assert.strictEqual(yield* find("a"), 2)
    assert.deepStrictEqual(cells.map(({ asked }) => asked), [2, 2, 3])
  }))

it.effect("keeps its entry for a key whose question no cell accepts, as of a forged link", () =>
  Effect.gen(function*() {
    const { cells, directory, find } = make()
    cells[1].has.add("a")
    assert.strictEqual(yield* find("a"), 1)
    cells[1].has.delete("a")
    assert.isNull(yield* find("a"))
    assert.strictEqual(directory.remembered("a"), cells[1])
  }))

it.effect("does not report as absent what a cell that is down can have, and finds what the others have", () =>
  Effect.gen(function*() {
    const { cells, find } = make()
    cells[1].isDown = true
    cells[2].has.add("a")
    assert.strictEqual(yield* find("a"), 2)
    const failed = yield* Effect.exit(find("b"))
    assert.deepStrictEqual(Exit.isFailure(failed) ? failed.cause.reasons.map(String) : [], [
      String(Cause.die(new Error("The cell is down")).reasons[0])
    ])
    // The cell of a remembered key is down: no other cell is asked.
    cells[2].isDown = true
    const before = cells[0].asked
    assert.isTrue(Exit.isFailure(yield* Effect.exit(find("a"))))
    assert.strictEqual(cells[0].asked, before)
    cells[2].isDown = false
    assert.strictEqual(yield* find("a"), 2)
  }))

it.effect("does not wait for a cell that does not respond", () =>
  Effect.gen(function*() {
    const never = yield* Deferred.make<Option.Option<string>>()
    const directory = new Directory<string, "silent" | "open">(["silent", "open"])
    const finding = yield* Effect.forkChild(
      directory.find("a", (cell) => cell === "silent" ? Deferred.await(never) : Effect.succeedSome("found"))
    )
    assert.deepStrictEqual(yield* Fiber.join(finding), Option.some({ cell: "open" as const, found: "found" }))
  }))

it.effect("lets one new key at a time wait for a cell that is down, for two seconds", () =>
  Effect.gen(function*() {
    let responds = false
    let asked = 0
    const directory = new Directory<string, "silent" | "open">(["silent", "open"])
    const find = (key: string) =>
      Effect.exit(directory.find(key, (cell) =>
        Effect.suspend(() => {
          if (cell === "open") return Effect.succeed(key === "a" ? Option.some(key) : Option.none())
          asked++
          return responds ? Effect.succeedNone : Effect.never
        })))
    const first = yield* Effect.all([find("b"), find("c")], { concurrency: "unbounded" }).pipe(
      Effect.forkChild({ startImmediately: true })
    )
    yield* TestClock.adjust("2 seconds")
    assert.isTrue((yield* Fiber.join(first)).every(Exit.isFailure))
    assert.strictEqual(asked, 2)
    const probe = yield* Effect.forkChild(find("d"), { startImmediately: true })
    assert.isTrue(Exit.isFailure(yield* find("e")))
    assert.isTrue(Exit.isSuccess(yield* find("a")))
    assert.strictEqual(asked, 3)
    yield* TestClock.adjust("2 seconds")
    assert.isTrue(Exit.isFailure(yield* Fiber.join(probe)))
    responds = true
    assert.deepStrictEqual(yield* find("f"), Exit.succeed(Option.none()))
    assert.deepStrictEqual(yield* find("g"), Exit.succeed(Option.none()))
    assert.strictEqual(asked, 5)
  }))

it.effect("remembers at most 10,000 keys, the newest", () =>
  Effect.gen(function*() {
    const { cells, directory, find } = make()
    directory.remember("first", cells[0])
    for (let index = 0; index < 9_999; index++) directory.remember(`key ${index}`, cells[0])
    assert.strictEqual(directory.remembered("first"), cells[0])
    cells[1].has.add("last")
    assert.strictEqual(yield* find("last"), 1)
    assert.deepStrictEqual(["first", "key 0", "last"].map((key) => directory.remembered(key)), [
      undefined,
      cells[0],
      cells[1]
    ])
  }))

/** A cell that responds until it is silent, and finds each key. */
const makeRemembered = Effect.gen(function*() {
  const state = { asked: 0, isSilent: false, response: Effect.void as Effect.Effect<void> }
  const directory = new Directory<string, "remembered" | "other">(["remembered", "other"])
  const find = (key: string) =>
    Effect.exit(directory.find(key, (cell) =>
      Effect.suspend(() => {
        if (cell === "other") return Effect.succeedNone
        state.asked++
        return state.isSilent ? Effect.never : Effect.as(state.response, Option.some(key))
      })))
  yield* find("a")
  yield* find("b")
  state.asked = 0
  return { find, state }
})

it.effect("lets one remembered key at a time wait for a silent cell, for two seconds", () =>
  Effect.gen(function*() {
    const { find, state } = yield* makeRemembered
    state.isSilent = true
    const first = yield* Effect.forkChild(
      Effect.all(Array.from({ length: 50 }, () => find("a")), { concurrency: "unbounded" }),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 second")
    const later = yield* Effect.forkChild(find("b"), { startImmediately: true })
    yield* TestClock.adjust("1 second")
    assert.isTrue((yield* Fiber.join(first)).every(Exit.isFailure))
    assert.strictEqual(state.asked, 51)
    const only = yield* Effect.forkChild(find("a"), { startImmediately: true })
    assert.isTrue(Exit.isFailure(yield* find("a")))
    yield* TestClock.adjust("1 second")
    // The end of an earlier question does not let a second one wait.
    assert.isTrue(Exit.isFailure(yield* Fiber.join(later)))
    assert.isTrue(Exit.isFailure(yield* find("b")))
    assert.strictEqual(state.asked, 52)
    yield* TestClock.adjust("1 second")
    assert.isTrue(Exit.isFailure(yield* Fiber.join(only)))
    state.isSilent = false
    assert.isTrue(Exit.isSuccess(yield* find("a")))
    const again = yield* Effect.all([find("a"), find("b")], { concurrency: "unbounded" })
    assert.isTrue(again.every(Exit.isSuccess))
  }))

it.effect("asks a remembered cell concurrently, and waits for it while it responds to other questions", () =>
  Effect.gen(function*() {
    const { find, state } = yield* makeRemembered
    state.response = Effect.sleep("5 seconds")
    const slow = yield* Effect.forkChild(
      Effect.all([find("a"), find("b"), find("a")], { concurrency: "unbounded" }),
      { startImmediately: true }
    )
    assert.strictEqual(state.asked, 3)
    state.response = Effect.void
    for (let second = 0; second < 5; second++) {
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* find("b")))
    }
    assert.isTrue((yield* Fiber.join(slow)).every(Exit.isSuccess))
  }))
