/** The promises of `UnitOfWork`, as tests. Tags stand for whatever is written. */
import { assert } from "@effect/vitest"
import { type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { TagStore } from "@messaging-crm/core/Tags"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Deferred, Effect, Exit, Fiber } from "effect"
import * as Fixtures from "./Fixtures.ts"
import type { It } from "./Fixtures.ts"

const write = Effect.fnUntraced(function*(organization_id: OrganizationId, name: string) {
  const id = TagId.make(yield* Fixtures.uuid)
  yield* TagStore.use((store) => Effect.orDie(store.insert(organization_id, { id, name, color: "red" }, name)))
})

const written = (organization_id: OrganizationId) =>
  TagStore.use((store) => Effect.map(store.list(organization_id), (tags) => tags.map(({ name }) => name)))

export const suite = (it: It) => {
  it.effect("keeps the writes of what succeeds", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      yield* transact(Effect.andThen(write(ours, "a"), write(ours, "b")))
      assert.deepStrictEqual(yield* written(ours), ["a", "b"])
    }))

  it.effect("undoes the writes of what fails or dies, and passes the failure on", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const failed = yield* Effect.flip(transact(Effect.andThen(write(ours, "a"), Effect.fail("no"))))
      assert.strictEqual(failed, "no")
      const died = yield* Effect.exit(transact(Effect.andThen(write(ours, "b"), Effect.die("bug"))))
      assert.isTrue(Exit.hasDies(died))
      assert.deepStrictEqual(yield* written(ours), [])
    }))

  it.effect("undoes the writes of what is interrupted", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const reached = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        transact(
          write(ours, "a").pipe(Effect.andThen(Deferred.succeed(reached, undefined)), Effect.andThen(Effect.never))
        )
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* written(ours), [])
      yield* transact(write(ours, "b"))
      assert.deepStrictEqual(yield* written(ours), ["b"])
    }))

  it.effect("shows its own writes to itself, and to others only when it has ended", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const [wrote, may_end] = [yield* Deferred.make<ReadonlyArray<string>>(), yield* Deferred.make<void>()]
      const fiber = yield* Effect.forkChild(transact(Effect.gen(function*() {
        yield* write(ours, "a")
        yield* Deferred.succeed(wrote, yield* written(ours))
        yield* Deferred.await(may_end)
      })))
      assert.deepStrictEqual(yield* Deferred.await(wrote), ["a"])
      assert.deepStrictEqual(yield* written(ours), [])
      yield* Deferred.succeed(may_end, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* written(ours), ["a"])
    }))

  it.effect("undoes a nested failure that is caught, and nothing else", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      yield* transact(Effect.gen(function*() {
        yield* write(ours, "a")
        yield* Effect.ignore(transact(Effect.andThen(write(ours, "b"), Effect.fail("no"))))
        yield* transact(write(ours, "c"))
      }))
      assert.deepStrictEqual(yield* written(ours), ["a", "c"])
    }))

  it.effect("undoes what a nested one wrote when the outer one fails", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      yield* Effect.ignore(transact(Effect.andThen(transact(write(ours, "a")), Effect.fail("no"))))
      assert.deepStrictEqual(yield* written(ours), [])
    }))
}
