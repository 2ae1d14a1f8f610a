/** Concurrent operations of two or three processes, and commits that PostgreSQL aborts. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CallbackStore } from "@messaging-crm/core/CallbackInbox"
import * as Changes from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { AddNote, ContactRows, Contacts, ContactStore, UpdateContact } from "@messaging-crm/core/Contacts"
import {
  type EncodedResponse,
  Idempotency,
  IdempotencyKey,
  IdempotencyStore,
  type Respond
} from "@messaging-crm/core/Idempotency"
import { type ContactId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { conflicts } from "@messaging-crm/core/Metrics"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { CreateTag, TagRows, Tags, TagStore } from "@messaging-crm/core/Tags"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Array, Cause, Context, DateTime, Effect, Exit, Fiber, Metric, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { breakOff, waiterFor, whileHeld, whileLocked } from "./Sessions.ts"

const unbounded = { concurrency: "unbounded" } as const

const actor = (organization_id: OrganizationId) =>
  Effect.provideService(CurrentActor, { organization_id, member_id: null })

/** How many commits were decided again in this test run so far. */
const conflictCount = Effect.map(Metric.value(conflicts), ({ count }) => Number(count))

const loadContact = (organization_id: OrganizationId, id: ContactId) =>
  Effect.map(ContactStore.use((store) => store.load(organization_id, id)), Option.getOrThrow)

const encode = (response: unknown) =>
  Effect.succeed({ status: 200, body: new TextEncoder().encode(JSON.stringify(response)) })

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

  it.effect("delivers every event to webhooks that exist at its commit, among commits of organizations without webhooks", () =>
    Effect.gen(function*() {
      const crm = yield* Processes.startCrm
      const store = yield* WebhookDeliveryStore
      const contacts = yield* Effect.forEach(Array.range(1, 8), () =>
        Effect.gen(function*() {
          const ours = yield* Fixtures.organization
          return { ours, id: (yield* Fixtures.contact(ours)).id }
        }))
      const update = (job_title: string) =>
        Effect.forEach(
          contacts,
          ({ id, ours }) => actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ job_title }))),
          unbounded
        )
      const subscribe = (some: ReadonlyArray<typeof contacts[number]>) =>
        Effect.forEach(some, ({ ours }) =>
          Effect.map(
            Fixtures.webhook(ours, { event_types: ["contact.updated"], include_resource: true }),
            (webhook) => ({ ours, id: webhook.id })
          ))
      const bodies = (webhooks: Effect.Success<ReturnType<typeof subscribe>>) =>
        Effect.forEach(webhooks, ({ id, ours }) =>
          Effect.flatMap(
            store.list(ours, id, 9),
            Effect.forEach((delivery) => Effect.map(store.load(ours, delivery.id), Option.getOrThrow))
          ))
      const titles = (found: Effect.Success<ReturnType<typeof bodies>>) =>
        found.map((each) => each.map(({ full_body }) => JSON.parse(full_body ?? "").data.contact.job_title).toSorted())

      yield* update("a")
      const first = yield* subscribe(contacts.slice(0, 4))
      yield* update("b")
      const second = yield* subscribe(contacts.slice(4))
      yield* update("c")
      assert.deepStrictEqual(titles(yield* bodies(first)), Array.replicate(["b", "c"], 4))
      assert.deepStrictEqual(titles(yield* bodies(second)), Array.replicate(["c"], 4))
      for (const { ours } of contacts) {
        assert.lengthOf(yield* Fixtures.storedEvents(ours, "contact.updated"), 3)
      }
    }))

  it.effect("has no conflict between texts in one conversation, and loses none of 200 from 50 writers", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const processes = [yield* Processes.startCrm, yield* Processes.startCrm]
      const { contact_id, conversation_id } = yield* Fixtures.thread(ours)
      const at = yield* DateTime.now
      yield* Fixtures.write(
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
        SELECT s.id, s.content ->> 'text' AS text
        FROM sends s
        JOIN work w ON w.kind = 'send' AND w.ref = s.id AND w.lane = s.conversation_id
        WHERE s.conversation_id = ${conversation_id}
      `
      assert.sameMembers(rows.map(({ id }) => id), sent.map(({ id }) => id))
      assert.sameMembers(rows.map(({ text }) => text), texts.flat().map(({ text }) => text))
    }))

  it.effect("responds to concurrent equal requests with the same bytes, and executes them once", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const processes = [yield* Processes.startCrm, yield* Processes.startCrm]
      const { id } = yield* Fixtures.contact(ours)
      const webhook = CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] })
      type Process = typeof processes[number]
      type Encode = Respond<unknown, EncodedResponse>
      const update = (crm: Process, index: number, respond: Encode) =>
        Context.get(crm, Contacts).update(id, UpdateContact.make({ city: `${index}` }), respond)
      const createTag = (crm: Process, _: number, respond: Encode) =>
        Effect.orDie(Context.get(crm, Tags).create(CreateTag.make({ name: "new", color: "red" }), respond))
      const createWebhook = (crm: Process, _: number, respond: Encode) =>
        Effect.orDie(Context.get(crm, Webhooks).create(webhook, respond))
      const operations = { update, "update again": update, createTag, "create the tag again": createTag, createWebhook }
      for (const [name, run] of Object.entries(operations)) {
        const request = (crm: Process, index: number) =>
          Context.get(crm, Idempotency).once(
            { key: IdempotencyKey.make(`${name} key`), fingerprint: "f".repeat(64), request_id: `${index}` },
            (record) => run(crm, index, { encode, record })
          )
        const outcomes = yield* actor(ours)(Effect.all(
          processes.flatMap((crm, process) =>
            Array.makeBy(4, (index) => Effect.exit(request(crm, process * 4 + index)))
          ),
          unbounded
        ))
        // The second tag would have the name of the first: the requests are rejected, and leave no record.
        if (name === "create the tag again") {
          assert.isTrue(outcomes.every(Exit.isFailure))
          continue
        }
        const responses = yield* Effect.all(outcomes)
        assert.lengthOf(responses.filter(({ replayed }) => !replayed), 1)
        assert.lengthOf(new Set(responses.map(({ body }) => new TextDecoder().decode(body))), 1)
        assert.lengthOf(new Set(responses.map(({ request_id }) => request_id)), 1)
      }
      assert.strictEqual((yield* loadContact(ours, id)).version, 3)
      assert.lengthOf(yield* TagStore.use((store) => store.list(ours)), 1)
    }))

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
      assert.strictEqual(yield* Fixtures.outcome(ours, stale), "Conflict")
      const exit = yield* Effect.exit(
        sql.withTransaction(Effect.andThen(Fixtures.tag(ours, "undone"), Fixtures.commit(ours, stale)))
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.deepInclude(Exit.isFailure(exit) ? Cause.squash(exit.cause) : {}, { _tag: "Conflict" })
      assert.deepStrictEqual(yield* TagStore.use((store) => store.list(ours)), [])
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
      const callback = yield* Fixtures.uuid
      const part = { channel_id: null, people: [], body: Uint8Array.of(1) }
      yield* CallbackStore.use((store) =>
        store.insert([{ ...part, id: callback, source: "app", received_at: Fixtures.noon }])
      )
      const id = TagId.make(yield* Fixtures.uuid)
      const tag = TagRows.insert({ id, name: "new", name_key: "new", color: "red" })
      const committing = yield* whileLocked(sql`provider_callbacks WHERE id = ${callback}`, (pid) =>
        Effect.gen(function*() {
          const committing = yield* Effect.forkChild(Fixtures.outcome(ours, tag, { callback }))
          const isFirst = Effect.as(Fiber.join(committing), true)
          assert.isFalse(yield* Effect.raceFirst(Effect.as(waiterFor(pid), false), isFirst))
          return committing
        }))
      assert.strictEqual(yield* Fiber.join(committing), "committed")
    }))

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
        {
          response: {
            key,
            fingerprint: "f".repeat(64),
            status: 200,
            body: new Uint8Array([1]),
            sealed: false,
            request_id: "r",
            created_at: Fixtures.noon
          }
        }
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
      const writes = Effect.provideService(Fixtures.outcome(ours, changes), Commit, Context.get(process, Commit))
      const outcome = yield* killed(writes)
      // Whether it was committed is unknown to the caller. The look-up of the key's record decides.
      assert.deepStrictEqual(outcome, Exit.succeed("Unconfirmed"))
      assert.deepStrictEqual(yield* TagStore.use((store) => store.list(ours)), [])
      assert.deepInclude(yield* loadContact(ours, id), { city: null, version: 1 })
      assert.isTrue(Option.isNone(yield* IdempotencyStore.use((store) => store.find(ours, key))))

      const { response: _remember, ...keyless } = changes
      const lost = yield* killed(
        Effect.provideService(Fixtures.outcome(ours, keyless), Commit, Context.get(process, Commit))
      )
      assert.isTrue(Exit.hasDies(lost))
      assert.deepInclude(yield* loadContact(ours, id), { city: null, version: 1 })

      assert.strictEqual(yield* writes, "committed")
      assert.lengthOf(yield* TagStore.use((store) => store.list(ours)), 1)
      assert.deepInclude(yield* loadContact(ours, id), { city: "Bonn", version: 2 })
      assert.isTrue(Option.isSome(yield* IdempotencyStore.use((store) => store.find(ours, key))))
      // A commit whose response was lost is found by its key.
      assert.strictEqual(yield* writes, "KeyUsed")
    }))

  it.effect("executes a request with an idempotency key once although its connections are killed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const crm = yield* Processes.startCrm
      const { id } = yield* Fixtures.contact(ours)
      const writing = yield* whileHeld(id, (pid) =>
        Effect.gen(function*() {
          const request = Context.get(crm, Idempotency).once(
            { key: IdempotencyKey.make("a lucky one's key"), fingerprint: "f".repeat(64), request_id: "r" },
            (record) => Context.get(crm, Contacts).addNote(id, AddNote.make({ text: "once" }), { encode, record })
          )
          const writing = yield* Effect.forkChild(actor(ours)(request))
          for (let kills = 0; kills < 3; kills++) {
            const waiter = yield* waiterFor(pid)
            yield* sql`SELECT pg_terminate_backend(${waiter}::integer)`
          }
          return writing
        }))
      assert.strictEqual((yield* Fiber.join(writing)).status, 200)
      assert.deepInclude(yield* loadContact(ours, id), { notes: "once", version: 2 })
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
        yield* Fixtures.outcome(ours, ContactRows.update({ id, version: 1 }, { city: "Bonn" })),
        "committed"
      )
    }))
})
