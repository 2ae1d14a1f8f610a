/** The order in which statements lock rows: that of `lock_order`, so that no two of them wait for each other. */
import { assert, describe, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { afterNoon } from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows, ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import type { Ids, OrganizationId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { insert, MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { lock_order } from "@messaging-crm/core/Table"
import { Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Lanes from "../testing/Lanes.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked } from "./Sessions.ts"

/** A message with a file and a provider ID, in a conversation with a preview. */
const scene = Effect.gen(function*() {
  const ours = yield* Fixtures.organization
  const on = yield* Fixtures.thread(ours)
  const file = yield* Fixtures.file(ours)
  const media = { ...file, kind: "image", transcript: null } as const
  const message = yield* Fixtures.newMessage(on.conversation_id, { created_at: afterNoon(1), media })
  yield* Fixtures.mustCommit(ours, insert(on.channel.id, on.contact_id, Option.none(), message))
  return { ours, on, message, file }
})
type Scene = Effect.Success<typeof scene>

/** Returns the organization's rows of a table. */
const rowsOf = (sql: SqlClient.SqlClient, table: string, organization_id: OrganizationId) =>
  sql`${sql(table)} WHERE organization_id = ${organization_id}`

/** Returns whether a session has locked a row of the table more strongly than a foreign key does. */
const isLocked = Effect.fnUntraced(function*(table: string, organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = rowsOf(sql, table, organization_id)
  const all = yield* sql`SELECT 1 FROM ${rows}`
  return (yield* sql`SELECT 1 FROM ${rows} FOR NO KEY UPDATE SKIP LOCKED`).length < all.length
})

/** The statements that lock rows of several tables, and those tables. */
const writes: Readonly<
  Record<string, {
    readonly tables: ReadonlyArray<typeof lock_order[number]>
    readonly run: (scene: Scene) => Effect.Effect<unknown, unknown, Crm.StoragePorts | Ids>
  }>
> = {
  "a commit": {
    tables: ["provider_messages", "contacts", "conversations", "messages", "media"],
    run: ({ file, message, on, ours }) =>
      Fixtures.commitOutcome(
        ours,
        ProviderMessageRows.update(
          { channel_id: on.channel.id, provider_message_id: message.provider_message_id ?? "", version: 1 },
          { early_updates: [] }
        ),
        ContactRows.update({ id: on.contact_id, version: 1 }, { company: "Brick" }),
        ConversationRows.update({ id: on.conversation_id, version: 1 }, { agent_id: null }),
        MessageRows.update({ ...message, version: 1 }, { text: "x", media: null }),
        MediaRows.remove(file)
      )
  },
  "the commit of an activity": {
    tables: ["contacts", "conversations", "messages"],
    run: ({ message, on, ours }) =>
      Fixtures.commitOutcome(
        ours,
        MessageRows.update({ ...message, version: 1 }, { text: "x" }),
        Changes.touch({
          conversation_id: on.conversation_id,
          conversation_version: null,
          contact_id: on.contact_id,
          at: afterNoon(2),
          preview: "x",
          last_inbound_at: null
        })
      )
  },
  "the removal of old messages": {
    tables: ["provider_messages", "contacts", "conversations", "messages", "media"],
    run: () => MessageRetentionStore.use((store) => store.purge(afterNoon(10), 9))
  }
}

it.layer(Processes.database, { excludeTestServices: true })("Locks", (it) => {
  for (const [name, { run, tables }] of Object.entries(writes)) {
    describe(name, () => {
      for (const table of tables) {
        it.effect(`waits for ${table} before it locks what comes later`, () =>
          Effect.gen(function*() {
            // Its statements wait, and those of this test must not wait behind them.
            const other = yield* Processes.start
            const sql = yield* SqlClient.SqlClient
            const set = yield* scene
            const later = lock_order.slice(lock_order.indexOf(table) + 1).filter((one) => tables.includes(one))
            const [write, locked] = yield* whileLocked(
              rowsOf(sql, table, set.ours),
              Effect.fnUntraced(function*(pid: number) {
                const write = yield* Effect.forkChild(Effect.provide(run(set), other))
                yield* Effect.raceFirst(waiterFor(pid), Fiber.join(write))
                return [write, yield* Effect.filter(later, (one) => isLocked(one, set.ours))] as const
              })
            )
            yield* Fiber.join(write)
            assert.deepStrictEqual(locked, [])
          }))
      }
    })
  }

  it.effect("of lanes are taken by name, whichever the order in which a commit adds their work", () =>
    Effect.gen(function*() {
      const other = yield* Processes.start
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const lanes = (yield* Effect.replicateEffect(Fixtures.uuid, 4)).toSorted()
      const enqueue = (lane: string) => Effect.map(Fixtures.newWork(lane), Changes.enqueue)
      yield* Fixtures.mustCommit(ours, ...yield* Effect.forEach(lanes, enqueue))
      const free = sql<
        { readonly name: string }
      >`SELECT name FROM work_lanes WHERE name LIKE 'send:%' FOR UPDATE SKIP LOCKED`
      for (const order of [lanes, lanes.toReversed()]) {
        for (const [index, lane] of lanes.entries()) {
          // An idle lane changes when it gets work.
          yield* Lanes.makeIdle
          const changes = yield* Effect.forEach(order, enqueue)
          const [write, locked] = yield* whileLocked(
            sql`work_lanes WHERE name = ${`send:${lane}`}`,
            Effect.fnUntraced(function*(pid: number) {
              const write = yield* Effect.forkChild(Effect.provide(Fixtures.commitOutcome(ours, ...changes), other))
              yield* Effect.raceFirst(waiterFor(pid), Fiber.join(write))
              const names = new Set((yield* free).map(({ name }) => name))
              return [write, lanes.filter((each) => !names.has(`send:${each}`))] as const
            })
          )
          assert.strictEqual(yield* Fiber.join(write), "committed")
          assert.deepStrictEqual(locked, lanes.slice(0, index + 1))
        }
      }
    }))

  it.effect("of imported contacts are taken by ID, whichever the order in which they are given", () =>
    Effect.gen(function*() {
      const other = yield* Processes.start
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.replicateEffect(Fixtures.newContact, 2)
      const sorted = contacts.toSorted((a, b) => a.id < b.id ? -1 : 1)
      const insert = (given: typeof contacts) => ContactStore.use((store) => store.insertNew(ours, given, []))
      const importing = yield* sql.withTransaction(Effect.gen(function*() {
        yield* insert(sorted.slice(0, 1))
        const importing = yield* Effect.forkChild(Effect.provide(insert(sorted.toReversed()), other))
        const [mine] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
        yield* waiterFor(mine?.pid ?? 0)
        // It would wait for the import, and the import for it, if the import had inserted this contact already.
        yield* insert(sorted.slice(1))
        return importing
      }))
      assert.deepStrictEqual(yield* Fiber.join(importing), [])
    }))
})
