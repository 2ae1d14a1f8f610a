/** Tests of the bytes that requests store in PostgreSQL; `STORAGE_REQUESTS=1000` for as many. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import * as Processes from "./Processes.ts"

const requests = Number(process.env["STORAGE_REQUESTS"] ?? 50)

const encode = (response: unknown) =>
  Effect.succeed({ status: 200, body: new TextEncoder().encode(JSON.stringify(response)) })

/** The longest notes: text of four bytes a character that cannot be compressed, and prose. */
const notes = {
  random: Array.from(
    { length: limits.notes_chars_max },
    () => String.fromCodePoint(0x10000 + Math.floor(Math.random() * 0xF_FFFF))
  ).join(""),
  prose: readFileSync(new URL("../../../docs/contract.md", import.meta.url), "utf8").slice(0, limits.notes_chars_max)
}

it.layer(Processes.database, { excludeTestServices: true })(
  "What a request stores of a contact with the longest notes",
  (it) => {
    for (const [name, most] of [["random", 1.1], ["prose", 0.75]] as const) {
      it.effect(`is at most ${most} times what its budget counts if they are ${name}`, () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const organization_id = yield* Fixtures.organization
          const { id } = yield* Fixtures.contact(organization_id, { first_name: "Kim", notes: notes[name] })
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
          SELECT pg_total_relation_size('idempotency_keys')::float8 AS bytes
        `.pipe(Effect.map(([row]) => row?.bytes ?? 0))
          const actor = Effect.provideService(CurrentActor, { organization_id, member_id: null })
          const before = yield* size
          const outcomes = yield* Effect.forEach(Array.from({ length: requests }, (_, index) => index), patch, {
            concurrency: 8
          }).pipe(actor)
          const stored = (yield* size) - before
          const counted = outcomes.reduce((sum, { body }) => sum + body.byteLength + 500, 0)
          assert.isBelow(stored, most * counted)
          if (requests > 50) {
            yield* Effect.logInfo(`${name}: ${stored / requests} of ${counted / requests} bytes per request`)
          }
        }), 600_000)
    }
  }
)
