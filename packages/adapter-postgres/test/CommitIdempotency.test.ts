/** Equal requests with one idempotency key at the same time, and a request whose connections are killed. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { AddNote, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { type EncodedResponse, Idempotency, IdempotencyKey, type Respond } from "@messaging-crm/core/Idempotency"
import { Rows } from "@messaging-crm/core/Rows"
import { CreateTag, TagRows, Tags } from "@messaging-crm/core/Tags"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Array, Context, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { actor, loadContact, unbounded } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileHeld } from "./Sessions.ts"

const encode = (response: unknown) => Effect.succeed({ status: 200, body: JSON.stringify(response) })

it.layer(Processes.database, { excludeTestServices: true })("Commit", (it) => {
  it.effect("responds to concurrent equal requests with the same bytes, and executes them once", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const processes = [yield* Processes.startCrm, yield* Processes.startCrm]
      const { id } = yield* Fixtures.contact(ours)
      const webhook = CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] })
      type Process = typeof processes[number]
      type Encode = Respond<unknown, EncodedResponse>
      const update = (crm: Process, index: number, respond: Encode) =>
        Context.get(crm, Contacts).update(id, UpdateContact.make({ city: `${index}` }), undefined, respond)
      const createTag = (crm: Process, _: number, respond: Encode) =>
        Effect.orDie(Context.get(crm, Tags).create(CreateTag.make({ name: "new", color: "red" }), respond))
      const createWebhook = (crm: Process, _: number, respond: Encode) =>
        Effect.orDie(Context.get(crm, Webhooks).create(webhook, respond))
      /** Returns the exits of eight concurrent requests with one key. */
      const requests = (name: string, run: typeof update | typeof createTag | typeof createWebhook) => {
        const request = (crm: Process, index: number) =>
          Context.get(crm, Idempotency).once(
            { ...Fixtures.keyedRequest, key: IdempotencyKey.make(`${name} key`), request_id: `${index}` },
            (record) => run(crm, index, { encode, record })
          )
        return actor(ours)(Effect.all(
          processes.flatMap((crm, process) =>
            Array.makeBy(4, (index) => Effect.exit(request(crm, process * 4 + index)))
          ),
          unbounded
        ))
      }
      for (const [name, run] of Object.entries({ update, "update again": update, createTag, createWebhook })) {
        const responses = yield* Effect.all(yield* requests(name, run))
        assert.lengthOf(responses.filter(({ replayed }) => !replayed), 1)
        assert.lengthOf(new Set(responses.map(({ body }) => body)), 1)
        assert.lengthOf(new Set(responses.map(({ request_id }) => request_id)), 1)
      }
      // The second tag would have the name of the first: the requests are rejected, and leave no record.
      assert.isTrue((yield* requests("create the tag again", createTag)).every(Exit.isFailure))
      assert.strictEqual((yield* loadContact(ours, id)).version, 3)
      assert.lengthOf(yield* Rows.use((rows) => rows.list(TagRows, ours)), 1)
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
            { ...Fixtures.keyedRequest, key: IdempotencyKey.make("a lucky one's key") },
            (record) =>
              Context.get(crm, Contacts).addNote(id, AddNote.make({ text: "once" }), undefined, { encode, record })
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
})
