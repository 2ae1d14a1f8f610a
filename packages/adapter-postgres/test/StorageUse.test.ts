/** Tests of the bytes that requests store in PostgreSQL; `STORAGE_REQUESTS=10000` for as many. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const requests = Number(process.env["STORAGE_REQUESTS"] ?? 100)

/** The limit for a request that changes nothing: 20 MB for 10,000 of them. */
const request_bytes_max = 2000

const encode = (response: unknown) =>
  Effect.succeed({ status: 200, body: new TextEncoder().encode(JSON.stringify(response)) })

/** Text of four bytes a character that compresses badly. */
const notes = (length: number) =>
  Array.from({ length }, () => String.fromCodePoint(0x10000 + Math.floor(Math.random() * 0xF_FFFF))).join("")

it.layer(Processes.database, { excludeTestServices: true })("What requests store", (it) => {
  it.effect("is small for a request that changes nothing, whatever its response", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const organization_id = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(organization_id, {
        first_name: "Kim",
        notes: notes(limits.notes_chars_max)
      })
      const crm = yield* Processes.startCrm
      const patch = (index: number) =>
        Context.get(crm, Idempotency).once(
          {
            key: IdempotencyKey.make(`${globalThis.crypto.randomUUID()}-${index}`),
            fingerprint: "f".repeat(64),
            request_id: globalThis.crypto.randomUUID()
          },
          (record) => Context.get(crm, Contacts).update(id, UpdateContact.make({}), { encode, record })
        )
      // Other test files fill other schemas of the database at the same time.
      const size = sql<{ readonly bytes: number }>`
        SELECT sum(pg_total_relation_size(oid))::float8 AS bytes
        FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
      `.pipe(Effect.map(([row]) => row?.bytes ?? 0))
      const actor = Effect.provideService(CurrentActor, { organization_id, member_id: null })
      const before = yield* size
      const outcomes = yield* Effect.forEach(Array.from({ length: requests }, (_, index) => index), patch, {
        concurrency: 8
      }).pipe(actor)
      assert.isAbove(outcomes[0]?.body.byteLength ?? 0, 4 * limits.notes_chars_max)
      const grown = (yield* size) - before
      assert.isBelow(grown, request_bytes_max * requests)
      if (requests > 100) yield* Effect.logInfo(`${requests} requests: ${grown} bytes`)
    }), 600_000)
})
