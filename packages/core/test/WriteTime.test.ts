/** The time limit of a write: the answer when it is over, and that the answer stays true. */
import { assert, describe, it } from "@effect/vitest"
import {
  Commit,
  type CommitFailure,
  Conflict,
  KeyUsed,
  LeaseLost,
  type SubscribedEvent,
  Unconfirmed
} from "@messaging-crm/core/Commit"
import { Decide } from "@messaging-crm/core/Decide"
import { Ids, OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { TagRows } from "@messaging-crm/core/Tags"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import * as WriteTime from "@messaging-crm/core/WriteTime"
import { Deferred, Effect, Exit, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"

const ours = OrganizationId.make("01990000-0000-7000-8000-000000000001")
const changes = TagRows.update({ id: TagId.make("01990000-0000-7000-8000-000000000004"), version: 1 }, {})

/** How a commit of the test's store ends. */
type Committed = Effect.Effect<ReadonlyArray<SubscribedEvent>, CommitFailure>

/** A store whose commits end in these ways in turn, and the last way from then on. It counts them. */
const scene = (...ways: ReadonlyArray<Committed>) => {
  const seen = { commits: 0 }
  const commit = () => Effect.suspend(() => ways[Math.min(seen.commits++, ways.length - 1)] ?? Effect.succeed([]))
  const layer = Decide.layer.pipe(Layer.provide(Layer.mergeAll(
    Ids.layer,
    Secrets.layer,
    Layer.succeed(Commit, { commit }),
    Layer.succeed(
      StorageUse,
      StorageUse.of({ count: () => Effect.void, require: () => Effect.void, purge: Effect.succeed(0) })
    ),
    Layer.succeed(WorkSignal, { notify: () => Effect.void, wait: () => Effect.never })
  )))
  return { seen, layer }
}

/** Writes once, after its load. */
const write = (load: Effect.Effect<void> = Effect.void) =>
  Decide.use((decide) => decide.run(ours, { load, decide: () => Result.succeed({ result: "written", changes }) }))

/** Begins a write within its time. */
const begin = <A, E, R>(write: Effect.Effect<A, E, R>) =>
  Effect.forkChild(Effect.exit(WriteTime.within(write)), { startImmediately: true })

/** Returns whether a write whose time is over may have written; else its error. An assertion compares errors by their messages. */
const mayHaveWritten = <E extends { readonly _tag: string }>(
  writing: Fiber.Fiber<Exit.Exit<unknown, E | WriteTime.WriteTimeOver>>
) =>
  Fiber.join(writing).pipe(
    Effect.flatMap(Effect.flip),
    Effect.map((error) => error instanceof WriteTime.WriteTimeOver ? error.may_have_written : error._tag)
  )

describe("a write within its time", () => {
  it.effect("returns its result", () => {
    const { layer } = scene(Effect.succeed([]))
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* WriteTime.within(write()), "written")
      const slow = yield* begin(write(Effect.sleep("9 seconds")))
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* Fiber.join(slow), Exit.succeed("written"))
    }).pipe(Effect.provide(layer))
  })

  it.effect("continues if its caller is interrupted", () => {
    const { layer, seen } = scene(Effect.succeed([]))
    return Effect.gen(function*() {
      const loaded = yield* Deferred.make<void>()
      const writing = yield* begin(write(Deferred.await(loaded)))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(writing), { startImmediately: true })
      yield* Deferred.succeed(loaded, undefined)
      yield* Fiber.join(interrupting)
      assert.strictEqual(seen.commits, 1)
    }).pipe(Effect.provide(layer))
  })
})

describe("a write whose time is over", () => {
  it.effect("before its commit changed nothing, and never will", () => {
    const { layer, seen } = scene(Effect.succeed([]))
    return Effect.gen(function*() {
      const loaded = yield* Deferred.make<void>()
      const writing = yield* begin(write(Deferred.await(loaded)))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* mayHaveWritten(writing), false)
      yield* Deferred.succeed(loaded, undefined)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(seen.commits, 0)
    }).pipe(Effect.provide(layer))
  })

  it.effect("during its commit may have changed something, and the commit continues", () => {
    const ended = Deferred.makeUnsafe<void>()
    const committed = Deferred.makeUnsafe<ReadonlyArray<SubscribedEvent>>()
    const { layer } = scene(Effect.tap(Deferred.await(committed), () => Deferred.succeed(ended, undefined)))
    return Effect.gen(function*() {
      const writing = yield* begin(write())
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* mayHaveWritten(writing), true)
      yield* Deferred.succeed(committed, [])
      yield* Deferred.await(ended)
    }).pipe(Effect.provide(layer))
  })

  it.effect("while its commit waits to be sent changed nothing, and the commit is not sent", () => {
    const times: Array<WriteTime.WriteTime | null> = []
    const waiting = Effect.flatMap(WriteTime.CurrentWriteTime, (time) => {
      time?.wait()
      times.push(time)
      return Effect.never
    })
    const { layer } = scene(waiting)
    return Effect.gen(function*() {
      const writing = yield* begin(write())
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* mayHaveWritten(writing), false)
      assert.deepStrictEqual(times.map((time) => time?.resume()), [false])
    }).pipe(Effect.provide(layer))
  })

  it.effect("after one of its commits may have changed something", () => {
    const { layer, seen } = scene(Effect.succeed([]))
    return Effect.gen(function*() {
      const writing = yield* begin(Effect.andThen(write(), write(Effect.sleep("1 minute"))))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* mayHaveWritten(writing), true)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(seen.commits, 1)
    }).pipe(Effect.provide(layer))
  })

  for (const failure of [new KeyUsed(), new LeaseLost()]) {
    it.effect(`after a commit that failed with ${failure._tag} changed nothing`, () => {
      const { layer } = scene(Effect.fail(failure))
      return Effect.gen(function*() {
        const writing = yield* begin(Effect.andThen(Effect.exit(write()), write(Effect.sleep("1 minute"))))
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* mayHaveWritten(writing), false)
      }).pipe(Effect.provide(layer))
    })
  }

  for (
    const [name, failure, may_have_written] of [
      ["a conflict changed nothing", new Conflict(), false],
      ["a commit of unknown outcome may have changed something", new Unconfirmed(), true]
    ] as const
  ) {
    it.effect(`after ${name}, and it is not tried again`, () => {
      // The pause after it is at least a millisecond.
      const { layer, seen } = scene(Effect.andThen(Effect.sleep("9999500 micros"), Effect.fail(failure)))
      return Effect.gen(function*() {
        const writing = yield* begin(write())
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* mayHaveWritten(writing), may_have_written)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(seen.commits, 1)
      }).pipe(Effect.provide(layer))
    })
  }
})
