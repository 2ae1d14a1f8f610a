/** Commits in a transaction of their caller. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { ContactRows, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { Rows } from "@messaging-crm/core/Rows"
import { TagRows } from "@messaging-crm/core/Tags"
import { Cause, Context, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { actor, loadContact } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"

it.layer(Processes.database, { excludeTestServices: true })("Commit", (it) => {
  it.effect("is part of the caller's transaction, and is rolled back with it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const crm = yield* Processes.startCrm
      const outer = Context.get(crm, Contacts).update(id, UpdateContact.make({ city: "elsewhere" }))
      const renamed = Fixtures.commit(ours, ContactRows.update({ id, version: 1 }, { city: "undone" }))
      const exit = yield* Effect.exit(sql.withTransaction(Effect.andThen(renamed, Effect.fail("undo"))))
      assert.deepStrictEqual(exit, Exit.fail("undo"))
      assert.deepInclude(yield* loadContact(ours, id), { city: null, version: 1 })
      yield* sql.withTransaction(Effect.andThen(
        renamed,
        // The transaction sees its own uncommitted rows, which others do not.
        Effect.gen(function*() {
          assert.strictEqual((yield* loadContact(ours, id)).version, 2)
          const found = yield* actor(ours)(Context.get(crm, Contacts).get(id))
          assert.isNull(found.city)
        })
      ))
      assert.deepInclude(yield* loadContact(ours, id), { city: "undone", version: 2 })
      yield* actor(ours)(outer)
      assert.deepInclude(yield* loadContact(ours, id), { city: "elsewhere", version: 3 })
    }))

  it.effect("is a defect after a conflict in the caller's transaction, which is rolled back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const stale = ContactRows.update({ id, version: 7 }, { city: "stale" })
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, stale), "Conflict")
      const exit = yield* Effect.exit(
        sql.withTransaction(Effect.andThen(Fixtures.tag(ours, "undone"), Fixtures.commit(ours, stale)))
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.deepInclude(Exit.isFailure(exit) ? Cause.squash(exit.cause) : {}, { _tag: "Conflict" })
      assert.deepStrictEqual(yield* Rows.use((rows) => rows.list(TagRows, ours)), [])
    }))
})
