/** Commits that PostgreSQL aborts or rejects, whose connection is killed, or whose caller is interrupted. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { ContactRows, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { TagId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { TagRows } from "@messaging-crm/core/Tags"
import { Array, Context, Effect, Exit, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { actor, conflictCount, loadContact, unbounded } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"
import { breakOff, waiterFor, whileHeld } from "./Sessions.ts"

it.layer(Processes.database, { excludeTestServices: true })("Commit", (it) => {
  it.effect("is decided again after a deadlock or a failed serialization", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const crm = yield* Processes.startCrm
      for (const code of ["40P01", "40001", "55P03"]) {
        const tries = yield* breakOff(code, 2, code)
        const { id } = yield* Fixtures.contact(ours)
        const before = yield* conflictCount
        yield* actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ company: code })))
        assert.strictEqual(yield* tries, 3)
        assert.strictEqual(yield* conflictCount, before + 2)
        assert.deepInclude(yield* loadContact(ours, id), { company: code, version: 2 })
      }
    }))

  it.effect("fails with ConcurrentChanges after fifty attempts", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const crm = yield* Processes.startCrm
      const tries = yield* breakOff("always fails", 1000, "40001")
      const { id } = yield* Fixtures.contact(ours)
      const failure = yield* Effect.flip(
        actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ company: "always fails" })))
      )
      assert.strictEqual(failure._tag, "ConcurrentChanges")
      assert.strictEqual(yield* tries, 50)
      assert.deepInclude(yield* loadContact(ours, id), { company: null, version: 1 })
    }))

  it.effect("applies nothing of a commit whose connection is killed, and all of one that is retried with its key", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const key = IdempotencyKey.make("a killed one's key")
      const changes = Changes.all(
        TagRows.insert({ id: TagId.make(yield* Fixtures.uuid), name: "tag", color: "red", name_key: "tag" }),
        ContactRows.update({ id, version: 1 }, { city: "Bonn" }),
        { response: { ...Fixtures.idempotencyRecord, key } }
      )
      const killed = <A, E, R>(write: Effect.Effect<A, E, R>) =>
        whileHeld(id, (pid) =>
          Effect.gen(function*() {
            const writing = yield* Effect.forkChild(Effect.exit(write))
            const waiter = yield* waiterFor(pid)
            yield* sql`SELECT pg_terminate_backend(${waiter}::integer)`
            return yield* Fiber.join(writing)
          }))
      const process = yield* Processes.start
      const writes = Effect.provideService(Fixtures.commitOutcome(ours, changes), Commit, Context.get(process, Commit))
      const outcome = yield* killed(writes)
      // Whether it was committed is unknown to the caller. The look-up of the key's record decides.
      assert.deepStrictEqual(outcome, Exit.succeed("Unconfirmed"))
      assert.deepStrictEqual(yield* Rows.use((rows) => rows.list(TagRows, ours)), [])
      assert.deepInclude(yield* loadContact(ours, id), { city: null, version: 1 })
      assert.isTrue(Option.isNone(yield* IdempotencyStore.use((store) => store.find(ours, key))))

      const { response: _remember, ...keyless } = changes
      const lost = yield* killed(
        Effect.provideService(Fixtures.commitOutcome(ours, keyless), Commit, Context.get(process, Commit))
      )
      assert.isTrue(Exit.hasDies(lost))
      assert.deepInclude(yield* loadContact(ours, id), { city: null, version: 1 })

      assert.strictEqual(yield* writes, "committed")
      assert.lengthOf(yield* Rows.use((rows) => rows.list(TagRows, ours)), 1)
      assert.deepInclude(yield* loadContact(ours, id), { city: "Bonn", version: 2 })
      assert.isTrue(Option.isSome(yield* IdempotencyStore.use((store) => store.find(ours, key))))
      // A commit whose response was lost is found by its key.
      assert.strictEqual(yield* writes, "KeyUsed")
    }))

  it.effect("is complete although its caller is interrupted meanwhile", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const crm = yield* Processes.startCrm
      const { id } = yield* Fixtures.contact(ours)
      const interrupting = yield* whileHeld(id, (pid) =>
        Effect.gen(function*() {
          const writing = yield* Effect.forkChild(
            actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ city: "Bonn" })))
          )
          yield* waiterFor(pid)
          return yield* Effect.forkChild(Fiber.interrupt(writing))
        }))
      yield* Fiber.join(interrupting)
      assert.deepInclude(yield* loadContact(ours, id), { city: "Bonn", version: 2 })
    }))

  it.effect("fails with a defect when the database rejects a value, and its connections stay usable", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const rejected = Fixtures.commit(ours, ContactRows.update({ id, version: 1 }, { city: "" }))
      const exits = yield* Effect.all(Array.makeBy(40, () => Effect.exit(rejected)), unbounded)
      assert.isTrue(exits.every(Exit.hasDies))
      const found = yield* Effect.all(Array.makeBy(40, () => loadContact(ours, id)), unbounded)
      assert.isTrue(found.every(({ version }) => version === 1))
      assert.strictEqual(
        yield* Fixtures.commitOutcome(ours, ContactRows.update({ id, version: 1 }, { city: "Bonn" })),
        "committed"
      )
    }))
})
