import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import * as CommitBatcher from "../src/database/CommitBatcher.ts"

interface Item {
  readonly name: string
  readonly group?: string | null
  readonly rows?: ReadonlyArray<string>
  readonly lanes?: ReadonlyArray<string>
}

interface Options {
  readonly concurrency: number
  readonly size?: number
  /** Whether items can run together; true by default. */
  readonly isTogether?: boolean
}

/** Batches items, and runs each batch when the test allows it. */
const start = ({ isTogether = true, ...options }: Options) => {
  const batches: Array<{ readonly names: ReadonlyArray<string>; readonly end: Deferred.Deferred<void> }> = []
  const run = Effect.fnUntraced(function*(items: ReadonlyArray<Item>) {
    const end = yield* Deferred.make<void>()
    batches.push({ names: items.map(({ name }) => name), end })
    yield* Deferred.await(end)
  })
  const ask = CommitBatcher.make<Item, string, never, never>({
    size: 9,
    groupOf: ({ group = "any" }) => group,
    rowsOf: ({ rows = [] }) => rows,
    lanesOf: ({ lanes = [] }) => lanes,
    runSingle: (item) => Effect.as(run([item]), `done ${item.name}`),
    runBatch: (items) =>
      Effect.as(run(items), isTogether ? items.map(({ name }) => Exit.succeed(`done ${name}`)) : null),
    ...options
  })
  /** Requests items in this turn, one after the other, and starts the batches that can run. */
  const askFor = Effect.fnUntraced(function*(...items: ReadonlyArray<Item>) {
    const fibers = yield* Effect.forEach(items, (item) => Effect.forkChild(ask(item), { startImmediately: true }))
    yield* settled
    return fibers
  })
  const end = (index: number) =>
    Effect.andThen(
      Effect.suspend(() =>
        Effect.fromNullishOr(batches[index]).pipe(
          Effect.flatMap((batch) => Deferred.succeed(batch.end, undefined)),
          Effect.orDie
        )
      ),
      settled
    )
  /** Ends the running batches, and those that start then, because a request cannot be interrupted. */
  const endAll = Effect.gen(function*() {
    for (let index = 0; index < batches.length; index++) yield* end(index)
  })
  return { askFor, end, endAll, names: () => batches.map(({ names }) => names) }
}

/** Yields until every fiber that can continue has done so. */
const settled = Effect.replicateEffect(Effect.yieldNow, 10, { discard: true })

it.effect("requests of one turn share a batch, and requests made meanwhile share the next one", () =>
  Effect.gen(function*() {
    const { askFor, end, names } = start({ concurrency: 1 })
    const first = yield* askFor({ name: "a" }, { name: "b" })
    const next = yield* askFor({ name: "c" }, { name: "d" }, { name: "e" })
    assert.deepStrictEqual(names(), [["a", "b"]])
    yield* end(0)
    yield* end(1)
    assert.deepStrictEqual(names(), [["a", "b"], ["c", "d", "e"]])
    const answers = yield* Effect.forEach([...first, ...next], Fiber.join)
    assert.deepStrictEqual(answers, ["done a", "done b", "done c", "done d", "done e"])
  }))

it.effect("while items of a group run together, the next ones of it wait, and other groups start", () =>
  Effect.gen(function*() {
    const { askFor, end, endAll, names } = start({ concurrency: 9 })
    yield* askFor({ name: "a" }, { name: "b" })
    yield* askFor({ name: "c" })
    yield* askFor({ name: "d", group: "other" })
    yield* askFor({ name: "e" })
    assert.deepStrictEqual(names(), [["a", "b"], ["d"]])
    yield* end(0)
    assert.deepStrictEqual(names(), [["a", "b"], ["d"], ["c", "e"]])
    yield* endAll
  }))

it.effect("an item that runs alone keeps none of its group waiting", () =>
  Effect.gen(function*() {
    const { askFor, endAll, names } = start({ concurrency: 9 })
    yield* askFor({ name: "a" })
    yield* askFor({ name: "b" }, { name: "c" })
    assert.deepStrictEqual(names(), [["a"], ["b", "c"]])
    yield* endAll
  }))

it.effect("items that cannot run together run alone, and then keep none of their group waiting", () =>
  Effect.gen(function*() {
    const { askFor, end, endAll, names } = start({ concurrency: 9, isTogether: false })
    const fibers = yield* askFor({ name: "a", rows: ["r"] }, { name: "b" })
    yield* askFor({ name: "c" }, { name: "d", rows: ["r"] })
    assert.deepStrictEqual(names(), [["a", "b"]])
    yield* end(0)
    assert.deepStrictEqual(names(), [["a", "b"], ["a"], ["b"], ["c"]])
    yield* endAll
    assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), ["done a", "done b"])
    assert.deepStrictEqual(names(), [["a", "b"], ["a"], ["b"], ["c"], ["d"]])
  }))

it.effect("a batch has one group and at most its size, and an item without a group runs alone", () =>
  Effect.gen(function*() {
    const { askFor, end, endAll, names } = start({ concurrency: 9, size: 2 })
    yield* askFor(
      { name: "a", group: "x" },
      { name: "b", group: null },
      { name: "c", group: "y" },
      { name: "d", group: "x" },
      { name: "e", group: null },
      { name: "f", group: "x" }
    )
    assert.deepStrictEqual(names().toSorted(), [["a", "d"], ["b"], ["c"], ["e"]])
    yield* end(names().findIndex(([name]) => name === "a"))
    assert.deepStrictEqual(names().at(-1), ["f"])
    yield* endAll
  }))

it.effect("items of one row run one after the other, in order, and do not delay other items", () =>
  Effect.gen(function*() {
    const { askFor, end, endAll, names } = start({ concurrency: 9 })
    yield* askFor(
      { name: "a", rows: ["r"] },
      { name: "b", rows: ["r", "s"] },
      { name: "c", rows: ["s"] },
      { name: "d", rows: ["t"] }
    )
    assert.deepStrictEqual(names(), [["a", "d"]])
    yield* askFor({ name: "e", group: "other", rows: ["u"] })
    assert.deepStrictEqual(names(), [["a", "d"], ["e"]])
    yield* end(0)
    assert.deepStrictEqual(names(), [["a", "d"], ["e"], ["b"]])
    yield* end(2)
    assert.deepStrictEqual(names(), [["a", "d"], ["e"], ["b"], ["c"]])
    yield* endAll
  }))

it.effect("items of one lane share a batch or run one after the other", () =>
  Effect.gen(function*() {
    const { askFor, end, endAll, names } = start({ concurrency: 9 })
    yield* askFor({ name: "a", lanes: ["l"] }, { name: "b", lanes: ["l", "m"] }, { name: "c", lanes: ["m"] })
    assert.deepStrictEqual(names(), [["a", "b", "c"]])
    yield* askFor({ name: "d", lanes: ["m"] }, { name: "e", rows: ["m"] }, { name: "f", group: "other", lanes: ["n"] })
    assert.deepStrictEqual(names(), [["a", "b", "c"], ["f"]])
    yield* end(0)
    assert.deepStrictEqual(names(), [["a", "b", "c"], ["f"], ["d"]])
    yield* end(2)
    assert.deepStrictEqual(names(), [["a", "b", "c"], ["f"], ["d"], ["e"]])
    yield* endAll
  }))

it.effect("a batch with a defect does not affect other items", () =>
  Effect.gen(function*() {
    const ask = CommitBatcher.make<string, string, never, never>({
      concurrency: 1,
      size: 9,
      groupOf: (item) => item,
      rowsOf: () => ["r"],
      lanesOf: () => [],
      runSingle: (item) => item === "bad" ? Effect.die("bad") : Effect.succeed(item),
      runBatch: () => Effect.die("bad together")
    })
    const exits = (items: ReadonlyArray<string>) =>
      Effect.forEach(items, (item) => Effect.exit(ask(item)), { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* exits(["a", "bad", "b"]), [Exit.succeed("a"), Exit.die("bad"), Exit.succeed("b")])
  }))

it.effect("a defect of items that run together is that of each, and the next ones of their group run", () =>
  Effect.gen(function*() {
    const ask = CommitBatcher.make<string, string, never, never>({
      concurrency: 9,
      size: 2,
      groupOf: () => "any",
      rowsOf: () => [],
      lanesOf: () => [],
      runSingle: (item) => Effect.succeed(item),
      runBatch: () => Effect.die("bad together")
    })
    const exits = yield* Effect.forEach(["a", "b", "c"], (item) => Effect.exit(ask(item)), { concurrency: "unbounded" })
    assert.deepStrictEqual(exits, [Exit.die("bad together"), Exit.die("bad together"), Exit.succeed("c")])
  }))
