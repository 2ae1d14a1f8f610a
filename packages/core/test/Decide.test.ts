/** Calls of operations, and failed commits: the retries, their number, and the outcome of the operation. */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import type { RaisedEvent } from "@messaging-crm/core/Changes"
import { Commit, type CommitFailure, Conflict, KeyUsed, LeaseLost, Unconfirmed } from "@messaging-crm/core/Commit"
import { Decide, type LoadAndDecide } from "@messaging-crm/core/Decide"
import type { EncodedResponse, Respond } from "@messaging-crm/core/Idempotency"
import { EventId, Ids, OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { conflicts as conflict_count } from "@messaging-crm/core/Metrics"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { TagRows } from "@messaging-crm/core/Tags"
import { type ClaimedWork, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Cause, DateTime, Effect, Exit, Fiber, Layer, Metric, Random, Result } from "effect"
import { TestClock } from "effect/testing"

const ours = OrganizationId.make("01990000-0000-7000-8000-000000000001")

/** A store whose commits fail with these errors in turn, and then succeed. It records the time of each. */
const scene = (...failures: ReadonlyArray<CommitFailure>) => {
  const commits: Array<number> = []
  const notified: Array<string> = []
  const counted: Array<number> = []
  const left = [...failures]
  const layer = Decide.layer.pipe(Layer.provide(Layer.mergeAll(
    Ids.layer,
    Secrets.layer,
    Layer.succeed(Commit, {
      commit: () =>
        Effect.flatMap(DateTime.now, ({ epochMilliseconds }) => {
          commits.push(epochMilliseconds)
          const failure = left.shift()
          return failure === undefined ? Effect.succeed([]) : Effect.fail(failure)
        })
    }),
    Layer.succeed(
      StorageUse,
      StorageUse.of({
        count: (_organization_id, stored) => Effect.sync(() => void counted.push(...stored.map(({ bytes }) => bytes))),
        require: () => Effect.void,
        purge: Effect.succeed(0)
      })
    ),
    Layer.succeed(WorkSignal, {
      notify: (kind) => Effect.sync(() => void notified.push(kind)),
      wait: () => Effect.never
    })
  )))
  return { commits, counted, notified, layer }
}

const change = TagRows.update({ id: TagId.make("01990000-0000-7000-8000-000000000004"), version: 1 }, {})

/** An operation that counts its loads, and returns their number. */
const counting = (changes: Changes.Changes = change): LoadAndDecide<number, number, never, never> => {
  let loads = 0
  return {
    load: Effect.sync(() => ++loads),
    decide: (loaded) => Result.succeed({ result: loaded, changes })
  }
}

const run = (operation = counting()) => Decide.use((decide) => decide.run(ours, operation))

const claimed: ClaimedWork = {
  organization_id: ours,
  kind: "send",
  lane: "lane",
  ref: "ref",
  lane_cap: 1,
  attempt: 1,
  defects: 0,
  token: "token",
  trace: null
}

const settle = (operation = counting()) =>
  Decide.use(({ settle }) =>
    settle(claimed, {
      load: operation.load,
      decide: (loaded) => ({ result: loaded, changes: Changes.settle({ claimed, outcome: "finish" }) })
    })
  )

/** Random numbers that are all this one. */
const always = (number: number) =>
  Effect.provideService(Random.Random, { nextIntUnsafe: () => 0, nextDoubleUnsafe: () => number })

/** Runs an effect to its end, as fast as its pauses allow. */
const passing = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 millis")
  return yield* Fiber.await(fiber)
})

const defectOf = <A, E>(exit: Exit.Exit<A, E>): unknown =>
  Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? Cause.squash(exit.cause) : null

const conflicts = (count: number) => Array.from({ length: count }, () => new Conflict())

describe("an operation", () => {
  /** Returns an operation with this input. */
  const returning = (...input: ReadonlyArray<string>): LoadAndDecide<null, { readonly id: string }, never, never> => ({
    load: Effect.succeed(null),
    decide: () => Result.succeed({ result: { id: input.join(" ") }, changes: Changes.none })
  })
  const respond: Respond<{ readonly id: string }, EncodedResponse> = {
    encode: ({ id }) => Effect.succeed({ status: 200, body: id }),
    record: null
  }

  it.effect("returns the response to a call with a respond, whatever its parameters", () => {
    const { layer } = scene()
    return Effect.gen(function*() {
      const { write } = yield* Decide
      const withDefault = write("tags.create", function*(one: string, other: string = "default") {
        yield* Effect.void
        return returning(one, other)
      })
      const withRest = write("tags.create", function*(...all: ReadonlyArray<string>) {
        yield* Effect.void
        return returning(...all)
      })
      const results = [yield* withDefault("a"), yield* withDefault("a", "b"), yield* withRest("a", "b", "c")]
      assert.deepStrictEqual(results.map(({ id }) => id), ["a default", "a b", "a b c"])
      const responses = [
        yield* withDefault("a", undefined, respond),
        yield* withDefault("a", "b", respond),
        yield* withRest("a", "b", "c", respond)
      ]
      assert.deepStrictEqual(responses.map(({ body }) => body), ["a default", "a b", "a b c"])
    }).pipe(Effect.provideService(CurrentActor, { organization_id: ours, member_id: null }), Effect.provide(layer))
  })
})

describe("a commit in conflict", () => {
  it.effect("is tried again with what is then stored", () => {
    const { commits, layer } = scene(...conflicts(3))
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* passing(run()), Exit.succeed(4))
      assert.lengthOf(commits, 4)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is tried again after 2, 3, 4.5 … 50 ms, and up to half of that earlier or later", () => {
    const pauses = [0, 0.5, 1].map((random) => {
      const { commits, layer } = scene(...conflicts(10))
      return Effect.as(passing(run()), commits).pipe(always(random), Effect.provide(layer))
    })
    return Effect.gen(function*() {
      const found = yield* Effect.forEach(
        pauses,
        (commits) => Effect.map(commits, (times) => times.slice(1).map((time, index) => time - (times[index] ?? 0)))
      )
      const middle = [2, 3, 4.5, 6.75, 10.125, 15.1875, 22.78125, 34.171875, 50, 50]
      const rounded = (factor: number, pauses: ReadonlyArray<number>) =>
        pauses.map((pause) => Math.round(100 * factor * pause))
      assert.deepStrictEqual(
        found.map((pauses) => rounded(1, pauses)),
        [0.5, 1, 1.5].map((factor) => rounded(factor, middle))
      )
    })
  })

  it.effect("is a defect after 50 tries", () => {
    const { commits, layer } = scene(...conflicts(60))
    return Effect.gen(function*() {
      const defect = defectOf(yield* passing(run()))
      assert.deepInclude(defect, { _tag: "ConcurrentChanges" })
      assert.lengthOf(commits, 50)
    }).pipe(Effect.provide(layer))
  })

  it.effect("waits for the retries of another operation on the same row, and not for those on others", () => {
    const { commits, layer } = scene(...conflicts(3))
    const another = TagRows.update({ id: TagId.make("01990000-0000-7000-8000-000000000005"), version: 1 }, {})
    return Effect.gen(function*() {
      const fork = (changes: Changes.Changes) => Effect.forkChild(run(counting(changes)), { startImmediately: true })
      const [first, same, other] = [yield* fork(change), yield* fork(change), yield* fork(another)]
      yield* TestClock.adjust("2 millis")
      assert.deepStrictEqual([first, same, other].map((fiber) => fiber.pollUnsafe() !== undefined), [true, false, true])
      assert.deepStrictEqual(commits, [0, 0, 0, 2, 2])
      yield* TestClock.adjust("2 millis")
      assert.deepStrictEqual(yield* Fiber.join(same), 2)
      assert.deepStrictEqual(commits, [0, 0, 0, 2, 2, 4])
    }).pipe(always(0.5), Effect.provide(layer))
  })
})

describe("a commit that fails otherwise", () => {
  it.effect("because its key is used is a defect at once, for the record to be replayed", () => {
    const { commits, layer } = scene(new KeyUsed())
    return Effect.gen(function*() {
      assert.instanceOf(defectOf(yield* passing(run())), KeyUsed)
      assert.lengthOf(commits, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("because its lease is lost settles nothing; without a lease it is a defect", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* settle().pipe(Effect.provide(scene(new LeaseLost()).layer)), null)
      const lost = scene(new Conflict(), new LeaseLost())
      assert.deepStrictEqual(yield* passing(settle().pipe(Effect.provide(lost.layer))), Exit.succeed(null))
      assert.lengthOf(lost.commits, 2)
      assert.instanceOf(
        defectOf(yield* passing(run().pipe(Effect.provide(scene(new LeaseLost()).layer)))),
        LeaseLost
      )
      const conflicting = settle().pipe(Effect.provide(scene(...conflicts(60)).layer))
      assert.deepInclude(defectOf(yield* passing(conflicting)), { _tag: "ConcurrentChanges" })
    }))

  it.effect("with an unknown outcome is retried, and stays unknown if no retry resolves it", () =>
    Effect.gen(function*() {
      const told = scene(new Unconfirmed(), new KeyUsed())
      assert.instanceOf(defectOf(yield* passing(run().pipe(Effect.provide(told.layer)))), KeyUsed)
      const counted = Effect.map(Metric.value(conflict_count.of({})), ({ count }) => Number(count))
      const before = yield* counted
      yield* passing(run().pipe(Effect.provide(scene(new Unconfirmed(), new Conflict()).layer)))
      assert.strictEqual(yield* counted, before + 1, "only the conflict counts as one")
      const untold = scene(new Unconfirmed(), ...conflicts(60))
      assert.instanceOf(defectOf(yield* passing(run().pipe(Effect.provide(untold.layer)))), Unconfirmed)
      assert.lengthOf(untold.commits, 50)
    }))
})

describe("a commit", () => {
  const event: RaisedEvent = {
    id: EventId.make("01990000-0000-7000-8000-000000000003"),
    type: "contact.updated",
    body: "{}",
    created_at: DateTime.makeUnsafe(7),
    resource: null
  }

  it.effect("wakes the workers of the work that it makes available, and counts its bytes, once", () => {
    const { counted, layer, notified } = scene(new Conflict())
    const changes = Changes.all(
      Changes.enqueue({ kind: "send", lane: "l", ref: "r", due_at: event.created_at }),
      Changes.throttle({ kind: "send_outcome", lane: "l", until: null, cap: 1 }),
      Changes.raise(event)
    )
    return Effect.gen(function*() {
      yield* passing(run(counting(changes)))
      assert.deepStrictEqual(notified, ["send", "send_outcome", "webhook_event"])
      assert.deepStrictEqual(counted, [243, 600])
    }).pipe(Effect.provide(layer))
  })

  it.effect("of no changes is not made", () => {
    const { commits, layer, notified } = scene()
    return Effect.gen(function*() {
      assert.strictEqual(yield* run(counting(Changes.none)), 1)
      assert.deepStrictEqual([commits, notified], [[], []])
    }).pipe(Effect.provide(layer))
  })
})
