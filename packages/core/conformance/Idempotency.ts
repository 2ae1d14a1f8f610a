/** The promises of `IdempotencyStore`, as tests. */
import { assert } from "@effect/vitest"
import { IdempotencyKey, IdempotencyStore, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Deferred, Effect, Exit, Fiber, Option, Result } from "effect"
import { bytes } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

const key = IdempotencyKey.make("a-key-of-ours")

const record = (body: Uint8Array) => ({
  fingerprint: "f".repeat(64),
  status: 201,
  body,
  sealed: true,
  request_id: "r-1"
})

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns the exact bytes of an answer", { body: bytes }, ({ body }) =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const ours = yield* Fixtures.organization
      yield* store.insert(ours, key, record(body), Fixtures.noon)
      const found = Option.getOrThrow(yield* store.find(ours, key))
      assert.deepStrictEqual(Array.from(found.body), Array.from(body))
      assert.strictEqual(found.fingerprint, record(body).fingerprint)
      assert.strictEqual(found.status, 201)
      assert.isTrue(found.sealed)
      assert.strictEqual(found.request_id, "r-1")
    }), { arbitrary: { runs } })

  it.effect("runs nothing for a key that is running, and says so at once", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const ours = yield* Fixtures.organization
      const [started, may_end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const first = yield* Effect.forkChild(
        store.exclusively(ours, key, Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(may_end)))
      )
      yield* Deferred.await(started)
      let ran = false
      const second = yield* Effect.flip(store.exclusively(
        ours,
        key,
        Effect.sync(() => {
          ran = true
        })
      ))
      assert.instanceOf(second, RequestProcessing)
      assert.isFalse(ran)
      yield* Deferred.succeed(may_end, undefined)
      yield* Fiber.join(first)
      assert.strictEqual(yield* store.exclusively(ours, key, Effect.succeed("now")), "now")
    }))

  it.effect("frees the key of what failed, died or was interrupted", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const ours = yield* Fixtures.organization
      yield* Effect.exit(store.exclusively(ours, key, Effect.fail("no")))
      yield* Effect.exit(store.exclusively(ours, key, Effect.die("bug")))
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        store.exclusively(ours, key, Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* store.exclusively(ours, key, Effect.succeed("free")), "free")
    }))

  it.effect("lets keys of other organizations and other keys run beside it", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const other = IdempotencyKey.make("another-key")
      const started = yield* Deferred.make<void>()
      // The first is running when the others ask. It does not wait for their end: a store may run one at a time.
      const first = yield* Effect.forkChild(
        store.exclusively(ours, key, Effect.andThen(Deferred.succeed(started, undefined), Effect.yieldNow))
      )
      yield* Deferred.await(started)
      const results = yield* Effect.all([
        Effect.result(store.exclusively(theirs, key, Effect.void)),
        Effect.result(store.exclusively(ours, other, Effect.void)),
        Effect.result(Fiber.join(first))
      ], { concurrency: "unbounded" })
      assert.isTrue(results.every(Result.isSuccess))
    }))

  it.effect("is one unit of work", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const insert = store.insert(ours, key, record(new Uint8Array([1])), Fixtures.noon)
      assert.isTrue(
        Exit.isFailure(yield* Effect.exit(store.exclusively(ours, key, Effect.andThen(insert, Effect.fail("no")))))
      )
      assert.deepStrictEqual(yield* store.find(ours, key), Option.none())
      yield* store.exclusively(ours, key, Effect.andThen(Effect.ignore(transact(Effect.fail("refused"))), insert))
      assert.isTrue(Option.isSome(yield* store.find(ours, key)))
    }))

  it.effect("forgets records that are old enough, at most as many as asked", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      while ((yield* store.purge(after(0), 1000)) > 0) continue
      const keys = ["first-key", "second-key", "third-key"].map((value) => IdempotencyKey.make(value))
      yield* Effect.forEach(keys, (each, index) =>
        store.insert(index === 1 ? theirs : ours, each, record(new Uint8Array()), after(-10 + index)))
      yield* store.insert(ours, key, record(new Uint8Array()), after(0))
      assert.strictEqual(yield* store.purge(after(0), 2), 2)
      assert.strictEqual(yield* store.purge(after(0), 2), 1)
      assert.strictEqual(yield* store.purge(after(0), 2), 0)
      assert.isTrue(Option.isSome(yield* store.find(ours, key)))
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      yield* store.insert(ours, key, record(new Uint8Array([1])), Fixtures.noon)
      assert.deepStrictEqual(yield* store.find(theirs, key), Option.none())
      yield* store.insert(theirs, key, record(new Uint8Array([2])), Fixtures.noon)
      assert.deepStrictEqual(Array.from(Option.getOrThrow(yield* store.find(ours, key)).body), [1])
    }))
}
