/** Compares the bytes that the storage budget counts with the sizes of the tables; `STORAGE_ROWS=100` for 100 times as many rows. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import type { RaisedEvent } from "@messaging-crm/core/Changes"
import { IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { ContactId, OrganizationId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { type Stored, storedBy, storedResponseBody } from "@messaging-crm/core/StorageUse"
import { type Attempt, DeliveryState, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as Processes from "./Processes.ts"

const times = Number(process.env["STORAGE_ROWS"] ?? 1)

/** By how much a count can differ from what is stored. */
const tolerance = 0.25

/** Text that PostgreSQL cannot compress. */
const randomText = (chars: number): string => randomBytes(chars).toString("base64").slice(0, chars)

const bytesOf = (stored: ReadonlyArray<Stored>): number => stored.reduce((sum, { bytes }) => sum + bytes, 0)

/** Runs an effect for each number, many at once, as requests do. */
const forEach = <A, E, R>(count: number, f: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }, (_, index) => index), f, { concurrency: 64 })

const sizesOf = Effect.fnUntraced(function*(tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.forEach(tables, (table) =>
    Effect.map(
      sql<{ readonly bytes: number }>`SELECT pg_total_relation_size(${table}::regclass)::float8 AS bytes`,
      ([row]) => row?.bytes ?? 0
    ))
})

/** Stores rows in empty tables, and checks what `store` counts for each table, in order. */
const compare = Effect.fnUntraced(function*<E, R>(
  tables: ReadonlyArray<string>,
  store: Effect.Effect<ReadonlyArray<number>, E, R>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE idempotency_keys, webhook_events, webhook_deliveries, work`
  const before = yield* sizesOf(tables)
  const counted = yield* store
  const after = yield* sizesOf(tables)
  for (const [index, table] of tables.entries()) {
    const [counts = 0, size = 0] = [counted[index], (after[index] ?? 0) - (before[index] ?? 0)]
    assert.isBelow(Math.abs(counts - size) / size, tolerance, `${table}: counted ${counts}, stored ${size}`)
  }
})

const storeRecords = Effect.fnUntraced(function*(count: number, body_bytes: number, key_chars: number) {
  const ours = yield* Fixtures.organization
  const stored = yield* forEach(count, () =>
    Effect.gen(function*() {
      const response = {
        ...Fixtures.idempotencyRecord,
        key: IdempotencyKey.make(globalThis.crypto.randomUUID().repeat(6).slice(0, key_chars)),
        request_id: globalThis.crypto.randomUUID(),
        body: randomText(body_bytes),
        created_at: yield* DateTime.now
      }
      yield* Fixtures.mustCommit(ours, { response })
      return storedBy({ response })
    }))
  return [bytesOf(stored.flat())]
})

/** Makes an event of a contact that changed; with notes, one that has the contact. */
const newEvent = Effect.fnUntraced(function*(notes_chars: number) {
  const contact_id = ContactId.make(yield* Fixtures.uuid)
  const data = { conversation_id: null, contact_id, changed_fields: ["notes"] }
  const event = yield* Fixtures.newEvent({ created_at: yield* DateTime.now })
  const { created_at: timestamp, id, type } = event
  return {
    ...event,
    body: JSON.stringify({ id, type, timestamp, data }),
    resource: notes_chars === 0
      ? null
      : { name: "contact", value: { id: contact_id, notes: randomText(notes_chars) }, contact_id, message_id: null }
  } satisfies RaisedEvent
})

/** Raises events for webhooks of a new organization, and returns what is counted of the events, deliveries, and work. */
const storeEvents = Effect.fnUntraced(function*(count: number, webhooks: number, notes_chars: number) {
  const sql = yield* SqlClient.SqlClient
  const ours = yield* Fixtures.organization
  for (let index = 0; index < webhooks; index++) yield* Fixtures.webhook(ours, { include_resource: notes_chars > 0 })
  const events = yield* forEach(count, () =>
    Effect.gen(function*() {
      const event = yield* newEvent(notes_chars)
      const raise = Changes.raise(event)
      return { id: event.id, bytes: bytesOf(storedBy(raise, yield* Fixtures.mustCommit(ours, raise))) }
    }))
  // The work that expands an event is not counted, because it exists for a moment.
  yield* sql`TRUNCATE work`
  const counts = yield* forEach(count, (index) =>
    Effect.gen(function*() {
      const { bytes, id } = events[index] ?? assert.fail("An event is missing.")
      const expand = Changes.expand(id)
      const expanded = storedBy(expand, yield* Fixtures.mustCommit(ours, expand))
      const [delivery = 0, work = 0] = expanded.map((stored) => stored.bytes)
      return [bytes, delivery, work] as const
    }))
  return [0, 1, 2].map((kind) => counts.reduce((sum, each) => sum + (each[kind] ?? 0), 0))
})

/** Stores deliveries and their attempts in turn, with a vacuum after each, and returns what is counted of them. */
const storeAttempts = Effect.fnUntraced(function*(count: number, response_chars: number) {
  const sql = yield* SqlClient.SqlClient
  const rounds = 10
  let counted = 0
  for (let round = 0; round < rounds; round++) {
    const [, deliveries = 0] = yield* storeEvents(count / rounds / 10, 10, 0)
    const pending = yield* sql<{ readonly id: string; readonly organization_id: string }>`
      SELECT id, organization_id FROM webhook_deliveries WHERE status = 'pending'
    `
    const attempts = yield* forEach(pending.length, (index) =>
      Effect.gen(function*() {
        const [id, organization_id] = [pending[index]?.id, pending[index]?.organization_id]
        const attempt: Attempt = {
          at: yield* DateTime.now,
          duration_ms: 12,
          response_status: 200,
          response_body: randomText(response_chars),
          failure_code: null
        }
        yield* Fixtures.mustCommit(
          OrganizationId.make(organization_id ?? ""),
          WebhookDeliveryRows.update(
            { id: WebhookDeliveryId.make(id ?? ""), version: 1 },
            DeliveryState.attempt({ attempt_count: 0 }, attempt, null)
          )
        )
        return storedResponseBody(attempt.response_body, null)
      }))
    yield* sql`VACUUM webhook_deliveries`
    counted += deliveries + bytesOf(attempts)
  }
  return [counted]
})

const records = [
  ["1,000 idempotency records", 1000, 300, 36],
  ["10,000 idempotency records", 10_000, 300, 36],
  ["idempotency records without a body", 2000, 0, 36],
  ["idempotency records with the longest keys", 2000, 300, limits.idempotency_key_chars_max],
  ["idempotency records of several kilobytes", 1000, 3000, 36],
  ["idempotency records of contacts with the longest notes", 30, 4 * limits.notes_chars_max, 36]
] as const

const events = [
  ["1,000 events without webhooks", 1000, 0, 0],
  ["10,000 events without webhooks", 10_000, 0, 0],
  ["1,000 events with one delivery each", 1000, 1, 0],
  ["10,000 events with one delivery each", 10_000, 1, 0],
  ["events with their resources", 1000, 1, 1000],
  ["events with resources of several kilobytes", 1000, 1, 3000]
] as const

const deliveries = [
  ["1,000 deliveries of 100 webhooks", 10, 100],
  ["10,000 deliveries of 10 webhooks", 1000, 10],
  ["30,000 deliveries of 100 webhooks", 300, 100]
] as const

it.layer(Processes.database, { excludeTestServices: true, timeout: "3 minutes" })("What the budget counts", (it) => {
  for (const [name, count, body_bytes, key_chars] of records) {
    it.effect(
      `differs little from the size of ${name}`,
      () => compare(["idempotency_keys"], storeRecords(count * times, body_bytes, key_chars)),
      600_000
    )
  }
  for (const [name, count, webhooks, notes_chars] of events) {
    const tables = webhooks === 0 ? ["webhook_events"] : ["webhook_events", "webhook_deliveries", "work"]
    it.effect(
      `differs little from the size of ${name}`,
      () => compare(tables, storeEvents(count * times, webhooks, notes_chars)),
      600_000
    )
  }
  it.effect(
    "differs little from the size of events of contacts with the longest notes",
    () => compare(["webhook_events"], storeEvents(30 * times, 1, limits.notes_chars_max)),
    600_000
  )
  for (const [name, count, webhooks] of deliveries) {
    it.effect(`differs little from the size of ${name}`, () =>
      compare(
        ["webhook_deliveries", "work"],
        Effect.map(storeEvents(count * times, webhooks, 0), ([, ...counts]) => counts)
      ), 600_000)
  }
  for (const response_chars of [2, 200, limits.webhook_response_bytes_max]) {
    it.effect(
      `differs little from the size of deliveries after responses of ${response_chars} bytes`,
      () => compare(["webhook_deliveries"], storeAttempts(2000 * times, response_chars)),
      600_000
    )
  }
})
