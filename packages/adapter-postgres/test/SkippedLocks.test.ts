/** Purges, sweeps, and claims, which leave rows that another session has locked, instead of waiting for them. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { afterNoon } from "@messaging-crm/conformance/Fixtures"
import { AuditStore } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"
import type { StoragePorts } from "@messaging-crm/core/Crm"
import { EventStore } from "@messaging-crm/core/Events"
import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { type Ids, MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { MessageStore, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { SendRows } from "@messaging-crm/core/Sends"
import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked } from "./Sessions.ts"

type Storage = StoragePorts | Ids

/** A call of a port that can find rows in a table, and those rows. */
interface Call {
  readonly table: string
  /** Inserts a row of the organization that the call finds. */
  readonly insert: (ours: OrganizationId) => Effect.Effect<unknown, unknown, Storage>
  readonly run: Effect.Effect<unknown, unknown, Storage>
}

type NameOf<Key extends string> = Key extends `${string}/${infer Rest}` ? NameOf<Rest> : Key

/** The names of the calls that delete old rows, of every port: one without a call here does not compile. */
type Purge = {
  [Port in StoragePorts as Port["key"]]: `${NameOf<Port["key"]>}.${Extract<keyof Port["Service"], `purge${string}`>}`
}[StoragePorts["key"]]

const later = afterNoon(600_000)

const claim = { now: later, lease_until: afterNoon(660_000), limit: 10 }

const claimWork = Effect.flatMap(
  Fixtures.uuid,
  (token) => WorkQueue.use((queue) => queue.claim({ ...claim, kind: "send", token }))
)

const insertWork = (ours: OrganizationId) =>
  Effect.gen(function*() {
    yield* Fixtures.mustCommit(ours, Changes.enqueue(yield* Fixtures.newWork(yield* Fixtures.uuid)))
  })

/** Inserts work that is leased for a minute. */
const insertClaimed = (ours: OrganizationId) => Effect.andThen(insertWork(ours), Fixtures.claimWork())

const sweep = WorkQueue.use((queue) => queue.sweep(later))

const calls: Readonly<Record<Purge, Call>> & Readonly<Record<string, Call>> = {
  "AuditStore.purge": {
    table: "audit_records",
    insert: () => Fixtures.organization,
    run: AuditStore.use((store) => store.purge(later, 10))
  },
  "EventStore.purge": {
    table: "webhook_events",
    insert: (ours) => Effect.flatMap(Fixtures.newEvent(), (event) => Fixtures.mustCommit(ours, Changes.raise(event))),
    run: EventStore.use((store) => store.purge(later, 10))
  },
  "IdempotencyStore.purge": {
    table: "idempotency_keys",
    insert: (ours) => Fixtures.mustCommit(ours, { response: Fixtures.idempotencyRecord }),
    run: IdempotencyStore.use((store) => store.purge(later, 10))
  },
  "MediaStore.purgeUnfinished": {
    table: "media",
    insert: (ours) =>
      Effect.flatMap(
        Fixtures.uuid,
        (id) => MediaStore.use((store) => store.begin(ours, MediaId.make(id), Fixtures.noon))
      ),
    run: MediaStore.use((store) => store.purgeUnfinished(later, 10))
  },
  "MessageRetentionStore.purge": {
    table: "sends",
    insert: Effect.fnUntraced(function*(ours: OrganizationId) {
      const send = yield* Fixtures.newSend(yield* Fixtures.thread(ours))
      yield* Fixtures.mustCommit(
        ours,
        SendRows.insert({ ...send, status: "failed", failure_reason: "provider_rejected" })
      )
    }),
    run: MessageRetentionStore.use((store) => store.purge(later, 10))
  },
  "MessageStore.purgeEarlyUpdates": {
    table: "provider_messages",
    insert: Effect.fnUntraced(function*(ours: OrganizationId) {
      const { id: channel_id } = yield* Fixtures.channel(ours)
      const none = { conversation_id: null, message_id: null, early_updates: [], created_at: Fixtures.noon }
      yield* Fixtures.mustCommit(ours, ProviderMessageRows.insert({ ...none, channel_id, provider_message_id: "m" }))
    }),
    run: MessageStore.use((store) => store.purgeEarlyUpdates(later, 10))
  },
  "StorageUseStore.purge": {
    table: "storage_use",
    insert: (ours) =>
      StorageUseStore.use((store) => store.add(ours, { bytes: 1, expires_at: Fixtures.noon }, Fixtures.noon)),
    run: StorageUseStore.use((store) => store.purge(later, 10))
  },
  "WorkQueue.sweep of an item": { table: "work", insert: insertClaimed, run: sweep },
  "WorkQueue.sweep of a lane": { table: "work_lanes", insert: insertClaimed, run: sweep },
  "WorkQueue.claim of an item": { table: "work", insert: insertWork, run: claimWork },
  "WorkQueue.claim of a lane": { table: "work_lanes", insert: insertWork, run: claimWork }
}

it.layer(Processes.database, { excludeTestServices: true })("a locked row is skipped", (it) => {
  for (const [name, { insert, run, table }] of Object.entries(calls)) {
    it.effect(`by ${name}`, () =>
      Effect.gen(function*() {
        const other = yield* Processes.start
        const sql = yield* SqlClient.SqlClient
        const ours = yield* Fixtures.organization
        yield* insert(ours)
        const rows = sql`${sql(table)}`
        const first = yield* whileLocked(
          rows,
          Effect.fnUntraced(function*(pid: number) {
            const running = yield* Effect.forkChild(Effect.provide(run, other))
            const ended = Effect.as(Fiber.join(running), "ran")
            return yield* Effect.raceFirst(Effect.as(waiterFor(pid), "waited"), ended)
          })
        )
        assert.strictEqual(first, "ran")
        assert.isNotEmpty(yield* sql`SELECT 1 FROM ${rows}`)
      }))
  }
})
