import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { ContactStore } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Deferred, Effect, Exit, Fiber, Latch, Option, Ref } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const rename = (id: OrganizationId, name: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      UPDATE organizations
      SET name = ${name}
      WHERE id = ${id}
    `
  ).pipe(Effect.orDie)

const nameOf = (id: OrganizationId) =>
  Effect.map(OrganizationStore.use((store) => store.find(id)), (found) => Option.getOrThrow(found).name)

it.layer(Processes.database, { excludeTestServices: true })("UnitOfWork", (it) => {
  it.effect("begins again what was undone to resolve a deadlock", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { transact } = yield* UnitOfWork
      const [left, right] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const attempts = yield* Ref.make(0)
      const both = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const

      const writer = (name: string, first: OrganizationId, second: OrganizationId, mine: 0 | 1) =>
        Effect.gen(function*() {
          yield* Ref.update(attempts, (count) => count + 1)
          yield* Effect.orDie(sql`SET LOCAL deadlock_timeout = '20ms'`)
          yield* rename(first, name)
          yield* Deferred.succeed(both[mine], undefined)
          yield* Deferred.await(both[mine === 0 ? 1 : 0])
          // A savepoint does not keep the deadlock from undoing the whole.
          yield* transact(rename(second, name))
        }).pipe(transact)

      yield* Effect.all([writer("one", left, right, 0), writer("two", right, left, 1)], { concurrency: "unbounded" })
      assert.strictEqual(yield* Ref.get(attempts), 3)
      assert.strictEqual(yield* nameOf(left), yield* nameOf(right))
    }))

  it.effect("gives up after three times, with the defect", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { transact } = yield* UnitOfWork
      const attempts = yield* Ref.make(0)
      const undone = sql`DO $$ BEGIN RAISE EXCEPTION 'undone' USING ERRCODE = '40001'; END $$`
      const exit = yield* Ref.update(attempts, (count) => count + 1).pipe(
        Effect.andThen(Effect.orDie(undone)),
        transact,
        Effect.exit
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.strictEqual(yield* Ref.get(attempts), 4)
    }))

  it.effect("leaves nothing of a unit that is interrupted in the middle of a statement", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { transact } = yield* UnitOfWork
      const id = yield* Fixtures.organization
      const written = yield* Latch.make()
      const fiber = yield* Effect.forkChild(
        rename(id, "half").pipe(
          Effect.andThen(written.open),
          Effect.andThen(sql`SELECT pg_sleep(4)`),
          transact
        )
      )
      yield* written.await
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* nameOf(id), "Acme")
      yield* transact(rename(id, "whole"))
      assert.strictEqual(yield* nameOf(id), "whole")
    }))

  it.effect("turns a statement that the database refuses into a defect, and its connection stays usable", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const id = yield* Fixtures.organization
      const exit = yield* Effect.exit(transact(rename(id, "")))
      assert.isTrue(Exit.hasDies(exit))
      const contacts = yield* ContactStore
      const listed = yield* Effect.all(
        Array.from({ length: 40 }, () => transact(contacts.list(id, Fixtures.everyone, { after: null, size: 1 }))),
        { concurrency: "unbounded" }
      )
      assert.isTrue(listed.every((rows) => rows.length === 0))
    }))
})
