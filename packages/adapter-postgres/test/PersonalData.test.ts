/** The order in which an erasure locks rows: by ID, as commits do, so that the two do not deadlock. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked } from "./Sessions.ts"

/** Stores a callback about a contact, an event with it and its delivery, and a recorded response with it. */
const scene = Effect.gen(function*() {
  const ours = yield* Fixtures.organization
  const { channel, contact_id } = yield* Fixtures.thread(ours)
  yield* Fixtures.webhook(ours, { include_resource: true })
  const body = JSON.stringify({ data: { contact_id } })
  const event = yield* Fixtures.newEvent({
    body,
    resource: { name: "contact", value: { id: contact_id }, contact_id, message_id: null }
  })
  yield* Fixtures.mustCommit(ours, Changes.raise(event))
  yield* Fixtures.mustCommit(ours, Changes.expand(event.id))
  const key = IdempotencyKey.make(yield* Fixtures.uuid)
  yield* Fixtures.mustCommit(ours, {
    response: { ...Fixtures.idempotencyRecord, key, body: contact_id }
  })
  const { external_id } = yield* Fixtures.identity(ours, contact_id)
  yield* Fixtures.callback(channel.id, [external_id])
  return { ours, contact_id }
})

it.layer(Processes.database, { excludeTestServices: true })("an erasure", (it) => {
  for (
    const [table, key] of [
      ["webhook_events", "id"],
      ["webhook_deliveries", "id"],
      ["provider_callbacks", "id"],
      ["idempotency_keys", "key"]
    ] as const
  ) {
    it.effect(`waits for the first of ${table} before it locks the others`, () =>
      Effect.gen(function*() {
        const other = yield* Processes.start
        const sql = yield* SqlClient.SqlClient
        const { contact_id, ours } = yield* scene
        const id = sql(key)
        // The copy is stored after the original, and its ID is smaller.
        yield* sql`
          INSERT INTO ${sql(table)}
          SELECT (jsonb_populate_record(original, jsonb_build_object(${key}::text, '00000000' || substr(${id}::text, 9)))).*
          FROM ${sql(table)} original
        `
        const rows = yield* sql<{ readonly id: string }>`SELECT ${id} AS id FROM ${sql(table)} ORDER BY 1`
        const [first, second] = rows.map(({ id }) => id)
        if (first === undefined || second === undefined) return assert.fail("There are no two rows.")
        const erase = PersonalDataStore.use((store) =>
          Effect.andThen(store.eraseCopies(ours, contact_id), store.eraseCallbacks(ours, contact_id, []))
        )
        const [erasure, locked] = yield* whileLocked(
          sql`${sql(table)} WHERE ${id} = ${first}`,
          Effect.fnUntraced(function*(pid: number) {
            const erasure = yield* Effect.forkChild(Effect.provide(erase, other))
            yield* Effect.raceFirst(waiterFor(pid), Fiber.join(erasure))
            const free = yield* sql`SELECT 1 FROM ${sql(table)} WHERE ${id} = ${second} FOR UPDATE SKIP LOCKED`
            return [erasure, free.length === 0] as const
          })
        )
        yield* Fiber.join(erasure)
        assert.isFalse(locked)
      }))
  }
})
