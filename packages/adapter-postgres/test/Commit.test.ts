/** Concurrent commits of two processes, and commits that wait for a row that another session locks. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { AddNote, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { TagId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { TagRows } from "@messaging-crm/core/Tags"
import { Array, Context, DateTime, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { actor, conflictCount, loadContact, unbounded } from "./CommitScene.ts"
import { runAsOne } from "./LockScene.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileHeld, whileLocked, whileOpen } from "./Sessions.ts"

it.layer(Processes.database, { excludeTestServices: true })("Commit", (it) => {
  it.effect("commits all updates of 50 concurrent writers of one contact", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const processes = [yield* Processes.startCrm, yield* Processes.startCrm]
      const { id } = yield* Fixtures.contact(ours)
      const writer = (crm: typeof processes[number], text: string) =>
        Effect.forEach(["a", "b", "c", "d"], (letter) =>
          Context.get(crm, Contacts).addNote(id, AddNote.make({ text: `${text}${letter}` })))
      yield* actor(ours)(Effect.all(
        processes.flatMap((crm, process) =>
          Array.makeBy(25, (index) => writer(crm, `${process}-${index}-`))
        ),
        unbounded
      ))
      const { notes, version } = yield* loadContact(ours, id)
      assert.strictEqual(version, 201)
      assert.lengthOf(new Set(notes?.split("\n\n")), 200)
    }))

  it.effect("has no conflict between texts in one conversation, and loses none of 200 from 50 writers", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const processes = [yield* Processes.startCrm, yield* Processes.startCrm]
      const { contact_id, conversation_id } = yield* Fixtures.thread(ours)
      const at = yield* DateTime.now
      yield* Fixtures.mustCommit(
        ours,
        Changes.touch({
          conversation_id,
          contact_id,
          at,
          preview: "Hi",
          conversation_version: null,
          last_inbound_at: at
        })
      )
      const before = yield* conflictCount
      const texts = Array.makeBy(
        100,
        (index) => processes.map((crm, process) => ({ crm, text: `${process}-${index}` }))
      )
      const sent = yield* actor(ours)(Effect.forEach(
        texts.flat(),
        ({ crm, text }) => Context.get(crm, Sends).send(conversation_id, SendMessage.make({ type: "text", text })),
        { concurrency: 50 }
      ))
      assert.strictEqual(yield* conflictCount, before)
      const rows = yield* sql<{ readonly id: string; readonly text: string }>`
        SELECT send.id, send.content ->> 'text' AS text
        FROM sends send
        JOIN work item ON item.kind = 'send' AND item.ref = send.id AND item.lane = send.conversation_id
        WHERE send.conversation_id = ${conversation_id}
      `
      assert.sameMembers(rows.map(({ id }) => id), sent.map(({ id }) => id))
      assert.sameMembers(rows.map(({ text }) => text), texts.flat().map(({ text }) => text))
    }))

  it.effect("waits for a row that another session locks for half a second", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const crm = yield* Processes.startCrm
      const { id } = yield* Fixtures.contact(ours)
      const before = yield* conflictCount
      const writing = yield* whileHeld(id, (pid) =>
        Effect.gen(function*() {
          const update = actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ city: "Bonn" })))
          const writing = yield* Effect.forkChild(update)
          yield* waiterFor(pid, "500 milliseconds")
          assert.isNull((yield* loadContact(ours, id)).city)
          return writing
        }))
      assert.strictEqual((yield* Fiber.join(writing)).city, "Bonn")
      assert.strictEqual(yield* conflictCount, before)
      assert.deepInclude(yield* loadContact(ours, id), { city: "Bonn", version: 2 })
    }))

  it.effect("locks the callback that it comes from", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const callback = yield* Fixtures.callback(null, [])
      const id = TagId.make(yield* Fixtures.uuid)
      const tag = TagRows.insert({ id, name: "new", name_key: "new", color: "red" })
      const committing = yield* whileLocked(sql`provider_callbacks WHERE id = ${callback}`, (pid) =>
        Effect.gen(function*() {
          const committing = yield* Effect.forkChild(Fixtures.commitOutcome(ours, tag, { callback }))
          const isFirst = Effect.as(Fiber.join(committing), true)
          assert.isFalse(yield* Effect.raceFirst(Effect.as(waiterFor(pid), false), isFirst))
          return committing
        }))
      assert.strictEqual(yield* Fiber.join(committing), "committed")
    }))

  it.effect("shares a statement with another commit from the same callback", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const callback = yield* Fixtures.callback(null, [])
      const tags = yield* Effect.forEach(
        ["one", "two"],
        (name) =>
          Effect.map(Fixtures.uuid, (id) => ({ id: TagId.make(id), name, name_key: name, color: "red" as const }))
      )
      yield* runAsOne(
        sql,
        tags.map((tag) => ({ organization_id: ours, changes: { ...TagRows.insert(tag), callback } }))
      )
      assert.lengthOf(yield* Rows.use((rows) => rows.list(TagRows, ours)), 2)
    }))

  it.effect("locks the work that it keeps, so that no other session claims or settles it meanwhile", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      yield* Fixtures.mustCommit(ours, Changes.enqueue(yield* Fixtures.newWork(yield* Fixtures.uuid)))
      const [item = assert.fail("Nothing was claimed.")] = yield* Fixtures.claimWork()
      const free = yield* whileOpen(
        Fixtures.mustCommit(ours, Changes.settle({ claimed: item, outcome: "keep" })),
        () => sql`SELECT 1 FROM work WHERE ref = ${item.ref} FOR NO KEY UPDATE SKIP LOCKED`
      )
      assert.deepStrictEqual(free, [])
    }))
})
