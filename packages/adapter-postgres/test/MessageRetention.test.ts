import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { afterNoon } from "@messaging-crm/conformance/Fixtures"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { insert } from "@messaging-crm/core/Messages"
import { SendRows } from "@messaging-crm/core/Sends"
import { Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked, whileOpen } from "./Sessions.ts"

it.layer(Processes.database, { excludeTestServices: true })("the removal of old messages", (it) => {
  it.effect.each([
    { name: "locked", change: false },
    { name: "changed", change: true }
  ])(
    "leaves a send that another session has $name, and its message, for the next call",
    ({ change }) =>
      Effect.gen(function*() {
        const other = yield* Processes.start
        const sql = yield* SqlClient.SqlClient
        const ours = yield* Fixtures.organization
        const thread = yield* Fixtures.thread(ours)
        const message = yield* Fixtures.newMessage(thread.conversation_id, { created_at: afterNoon(1) })
        const send = {
          ...yield* Fixtures.newSend(thread),
          status: "sent" as const,
          message_id: message.id,
          created_at: afterNoon(1)
        }
        yield* Fixtures.mustCommit(
          ours,
          insert(thread.channel.id, thread.contact_id, Option.none(), message),
          SendRows.insert(send)
        )
        const counts = sql`
        SELECT
          (SELECT count(*)::int FROM sends WHERE organization_id = ${ours}) AS sends,
          (SELECT count(*)::int FROM messages WHERE organization_id = ${ours}) AS messages
      `
        const purge = Effect.provide(MessageRetentionStore.use((store) => store.purge(afterNoon(10), 9)), other)
        yield* whileOpen(
          change
            ? sql`UPDATE sends SET recipient = recipient WHERE id = ${send.id}`
            : sql`SELECT 1 FROM sends WHERE id = ${send.id} FOR UPDATE`,
          () => Effect.map(purge, (removed) => assert.strictEqual(removed, 0))
        )
        assert.deepStrictEqual(yield* counts, [{ sends: 1, messages: 1 }])
        assert.strictEqual(yield* purge, 2)
        assert.deepStrictEqual(yield* counts, [{ sends: 0, messages: 0 }])
      })
  )

  it.effect("keeps a message while sends name it, although another session removes some of them meanwhile", () =>
    Effect.gen(function*() {
      const other = yield* Processes.start
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const message = yield* Fixtures.message(ours, thread, { created_at: afterNoon(1) })
      const sends = yield* Effect.forEach([2, 3], (millis) =>
        Effect.gen(function*() {
          const send = yield* Fixtures.newSend(thread)
          const fields = { status: "sent" as const, message_id: message.id, created_at: afterNoon(millis) }
          yield* Fixtures.mustCommit(ours, SendRows.insert({ ...send, ...fields }))
          return send.id
        }))
      const purge = MessageRetentionStore.use((store) => store.purge(afterNoon(10), 1))
      yield* whileOpen(
        sql`DELETE FROM sends WHERE id = ${sends[0]}`,
        () => Effect.map(Effect.provide(purge, other), (removed) => assert.strictEqual(removed, 0))
      )
      const left = yield* sql`SELECT id FROM messages WHERE organization_id = ${ours}`
      assert.deepStrictEqual(left, [{ id: message.id }])
      assert.strictEqual(yield* purge, 1)
      assert.strictEqual(yield* purge, 1)
    }))

  it.effect("keeps the previews of a message that arrives after it has read their conversation", () =>
    Effect.gen(function*() {
      const other = yield* Processes.start
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      yield* Fixtures.message(ours, thread, { created_at: afterNoon(1) })
      const arrives = Fixtures.message(ours, thread, { created_at: afterNoon(20), text: "new" })
      const purge = MessageRetentionStore.use((store) => store.purge(afterNoon(10), 9))
      const purging = yield* whileOpen(
        arrives,
        Effect.fnUntraced(function*(pid) {
          const purging = yield* Effect.forkChild(Effect.provide(purge, other))
          yield* waiterFor(pid)
          return purging
        })
      )
      assert.strictEqual(yield* Fiber.join(purging), 1)
      const sql = yield* SqlClient.SqlClient
      const previews = yield* sql`
        SELECT contact.last_activity_preview AS contact, conversation.last_activity_preview AS conversation
        FROM conversations conversation
        JOIN contacts contact ON contact.organization_id = conversation.organization_id AND contact.id = conversation.contact_id
        WHERE conversation.organization_id = ${ours}
      `
      assert.deepStrictEqual(previews, [{ contact: "new", conversation: "new" }])
    }))

  for (
    const [table, column] of [
      ["provider_messages", "channel_id"],
      ["contacts", "id"],
      ["conversations", "id"],
      ["messages", "conversation_id"]
    ] as const
  ) {
    it.effect(`locks the rows of ${table} by their keys, not in the order of their messages`, () =>
      Effect.gen(function*() {
        const other = yield* Processes.start
        const sql = yield* SqlClient.SqlClient
        const ours = yield* Fixtures.organization
        const threads = yield* Effect.replicateEffect(Fixtures.thread(ours), 8)
        // The later the IDs of a thread, the older its message.
        for (const [index, thread] of threads.toReversed().entries()) {
          yield* Fixtures.message(ours, thread, { created_at: afterNoon(index) })
        }
        const idOf = ({ channel, contact_id, conversation_id }: Fixtures.Thread) =>
          ({
            provider_messages: channel.id,
            contacts: contact_id,
            conversations: conversation_id,
            messages: conversation_id
          })[table]
        const [first = "", ...others] = threads.map(idOf).toSorted()
        const purge = Effect.provide(MessageRetentionStore.use((store) => store.purge(afterNoon(10), 9)), other)
        const [purging, free] = yield* whileLocked(
          sql`${sql(table)} WHERE ${sql(column)} = ${first}`,
          Effect.fnUntraced(function*(pid: number) {
            const purging = yield* Effect.forkChild(purge)
            yield* Effect.raceFirst(waiterFor(pid), Fiber.join(purging))
            const rows = sql`${sql(table)} WHERE ${sql(column)} = ANY(${others}::uuid[])`
            return [purging, yield* sql`SELECT 1 FROM ${rows} FOR UPDATE SKIP LOCKED`] as const
          })
        )
        assert.strictEqual(yield* Fiber.join(purging), threads.length)
        assert.lengthOf(free, others.length)
      }))
  }
})
