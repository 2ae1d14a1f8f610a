import { assert, it } from "@effect/vitest"
import { Arbitrary, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import * as Batcher from "../src/work/BatchedCommit/Batcher.ts"

interface Item {
  readonly number: number
  readonly group: string | null
  readonly rows: ReadonlyArray<string>
  readonly lanes: ReadonlyArray<string>
  /** How many turns of the event loop it takes, and how many pass until the next request. */
  readonly takes: number
  readonly gap: number
}

const groups = {
  ownerOf: () => "ours",
  weightOf: ({ rows }: Item) => 1 + rows.length,
  groupOf: ({ group }: Item) => group,
  exclusiveKeysOf: ({ rows }: Item) => rows,
  sharedKeysOf: ({ lanes }: Item) => lanes
}

const turns = (count: number) => Effect.replicateEffect(Effect.yieldNow, count, { discard: true })

const literals = <const Values extends ReadonlyArray<string | number | boolean>>(...values: Values) =>
  Arbitrary.schema(Schema.Literals(values))

const item = Arbitrary.all({
  group: Arbitrary.schema(Schema.NullOr(Schema.Literals(["x", "y"]))),
  rows: Arbitrary.array(literals("r", "s", "t", "u", "v"), { maxLength: 2 }),
  lanes: Arbitrary.array(literals("l", "m"), { maxLength: 1 }),
  takes: literals(0, 1, 2, 5),
  gap: literals(0, 0, 0, 1, 3)
})

const share = (one: ReadonlyArray<string>, other: ReadonlyArray<string>) => one.some((name) => other.includes(name))

it.effect.prop(
  "each request gets one result; requests for one row run in order and alone, those for one lane share a batch, and no batch is too large",
  { items: Arbitrary.array(item, { minLength: 1, maxLength: 30 }), isTogether: literals(true, false) },
  ({ isTogether, items }) =>
    Effect.gen(function*() {
      const [concurrency, size] = [2, 4]
      const running = new Set<Item>()
      const done: Array<Item> = []
      /** The batch that each item was tried in. Its items may then run alone at the same time. */
      const triedIn = new Map<Item, ReadonlyArray<Item>>()
      let batches = 0
      const run = Effect.fnUntraced(function*(batch: ReadonlyArray<Item>) {
        for (const one of batch) {
          for (const other of batch) {
            assert.isFalse(one !== other && share(one.rows, other.rows), "a row twice in a batch")
          }
          for (const other of running) {
            assert.isFalse(share(one.rows, other.rows), "a row in two batches")
            const isTried = triedIn.get(other)?.includes(one) ?? false
            assert.isFalse(!isTried && share(one.lanes, other.lanes), "a lane in two batches")
          }
          assert.strictEqual(one.group, batch[0]?.group)
        }
        assert.isAtMost(batch.length, size)
        if (isTogether) {
          assert.isAtMost(++batches, concurrency)
        }
        for (const one of batch) running.add(one)
        yield* turns(Math.max(...batch.map(({ takes }) => takes)))
        for (const one of batch) running.delete(one)
        batches--
      })
      const ask = Batcher.make<Item, number, never>({
        ...groups,
        concurrency,
        size,
        runSingle: (one) =>
          Effect.map(run([one]), () => {
            done.push(one)
            return one.number
          }),
        runAsOne: (batch) =>
          Effect.map(run(batch), () => {
            for (const one of batch) triedIn.set(one, batch)
            if (!isTogether) return null
            done.push(...batch)
            return batch.map(({ number }) => Exit.succeed(number))
          })
      })
      const requests = items.map((fields, number): Item => ({ ...fields, number }))
      const fibers = yield* Effect.forEach(
        requests,
        (request) => Effect.forkChild(ask(request), { startImmediately: true }).pipe(Effect.tap(turns(request.gap)))
      )
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), requests.map(({ number }) => number))
      assert.sameMembers(done, requests)
      for (const row of ["r", "s", "t", "u", "v"]) {
        const numbers = done.filter(({ rows }) => rows.includes(row)).map(({ number }) => number)
        assert.deepStrictEqual(numbers, numbers.toSorted((one, other) => one - other))
      }
    }),
  { arbitrary: { runs: 300 } }
)

it.effect("requests of one turn share a batch, and requests made meanwhile share the next one", () =>
  Effect.gen(function*() {
    const batches: Array<{ readonly items: ReadonlyArray<string>; readonly end: Deferred.Deferred<void> }> = []
    const ask = Batcher.make<string, string, never>({
      concurrency: 1,
      size: 9,
      ownerOf: () => "ours",
      weightOf: () => 1,
      groupOf: () => "any",
      exclusiveKeysOf: () => [],
      sharedKeysOf: () => [],
      runSingle: Effect.succeed,
      runAsOne: Effect.fnUntraced(function*(items) {
        const end = yield* Deferred.make<void>()
        batches.push({ items, end })
        yield* Deferred.await(end)
        return items.map((name) => Exit.succeed(name))
      })
    })
    const askFor = (...names: ReadonlyArray<string>) =>
      Effect.forEach(names, (name) => Effect.forkChild(ask(name), { startImmediately: true })).pipe(
        Effect.tap(turns(9))
      )
    const fibers = [...yield* askFor("a", "b"), ...yield* askFor("c", "d", "e")]
    assert.deepStrictEqual(batches.map(({ items }) => items), [["a", "b"]])
    for (const { end } of batches) yield* Effect.andThen(Deferred.succeed(end, undefined), turns(9))
    assert.deepStrictEqual(batches.map(({ items }) => items), [["a", "b"], ["c", "d", "e"]])
    assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), ["a", "b", "c", "d", "e"])
  }))

const failing = (options: { readonly size: number; readonly groupOf: (item: string) => string }) =>
  Batcher.make<string, string, never>({
    concurrency: 1,
    ownerOf: () => "ours",
    weightOf: () => 1,
    exclusiveKeysOf: () => [],
    sharedKeysOf: () => [],
    runSingle: (item) => item === "bad" ? Effect.die("bad") : Effect.succeed(item),
    runAsOne: () => Effect.die("bad together"),
    ...options
  })

const exits = (ask: ReturnType<typeof failing>, ...items: ReadonlyArray<string>) =>
  Effect.forEach(items, (item) => Effect.exit(ask(item)), { concurrency: "unbounded" })

it.effect("a defect is that of the items of its batch, and of no other", () =>
  Effect.gen(function*() {
    const alone = failing({ size: 9, groupOf: (item) => item })
    assert.deepStrictEqual(yield* exits(alone, "a", "bad", "b"), [
      Exit.succeed("a"),
      Exit.die("bad"),
      Exit.succeed("b")
    ])
    const together = failing({ size: 2, groupOf: () => "any" })
    const [bad, alsoBad, good] = yield* exits(together, "a", "b", "c")
    assert.deepStrictEqual([bad, alsoBad, good], [
      Exit.die("bad together"),
      Exit.die("bad together"),
      Exit.succeed("c")
    ])
  }))

it.effect("an owner that requests later goes before the rest of one that has requested much", () =>
  Effect.gen(function*() {
    const begun: Array<string> = []
    const gate = yield* Deferred.make<void>()
    const run = (item: string) =>
      Effect.andThen(Effect.sync(() => begun.push(item)), Effect.as(Deferred.await(gate), item))
    const ask = Batcher.make<string, string, never>({
      concurrency: 1,
      size: 1,
      ownerOf: (item) => item.slice(0, 4),
      weightOf: (item) => item.startsWith("many") ? 10 : 1,
      groupOf: () => null,
      exclusiveKeysOf: () => [],
      sharedKeysOf: () => [],
      runSingle: run,
      runAsOne: () => Effect.succeed(null)
    })
    const items = ["many 1", "many 2", "many 3", "few- 1", "few- 2"]
    const fibers = yield* Effect.forEach(items, (item) => Effect.forkChild(ask(item), { startImmediately: true }))
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(fibers, Fiber.join)
    assert.deepStrictEqual(begun, ["many 1", "few- 1", "few- 2", "many 2", "many 3"])
  }))
