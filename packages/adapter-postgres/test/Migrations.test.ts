import { assert, it } from "@effect/vitest"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect, Exit, Fiber, Latch, Layer, Logger } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { prepare } from "../src/database/migrations/0009_copies.ts"
import * as Database from "../testing/Database.ts"

const empty = Database.layerClient.pipe(Layer.provideMerge(Database.Database.layer))

/** Migrates with several processes at once, and returns the migrations that each has applied. */
const runAtOnce = Effect.fnUntraced(function*(count: number, run: typeof Migrations.run = Migrations.run) {
  const processes = yield* Effect.all(
    Array.from({ length: count }, () => Layer.build(Layer.fresh(Database.layerClient)))
  )
  return yield* Effect.forEach(processes, (process) => Effect.provideContext(run, process), {
    concurrency: "unbounded"
  })
})

it.layer(empty)("Migrations", (it) => {
  it.effect("are applied once by five processes that start at the same time", () =>
    Effect.gen(function*() {
      assert.isFalse(yield* Migrations.isCurrent)
      const done = yield* runAtOnce(5)
      assert.lengthOf(done.filter((migrations) => migrations.length > 0), 1)
      assert.isTrue(yield* Migrations.isCurrent)
    }))

  it.effect("give every table an organization, and every key the organization as its first column", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* sql<{ readonly key: string }>`
        SELECT indexrelid::regclass::text AS key
        FROM pg_index
        JOIN pg_class ON pg_class.oid = indrelid
        JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE relnamespace = current_schema()::regnamespace AND indisunique AND attname <> 'organization_id'
        ORDER BY 1
      `
      // Rows that are looked up without an organization, and the queue and the callbacks, which serve all organizations.
      assert.deepStrictEqual(keys.map(({ key }) => key), [
        "api_key_windows_pkey",
        "api_keys_digest_key",
        "channel_accounts_account_unique",
        "channel_accounts_channel_id_key",
        "channels_id_key",
        "messaging_crm_migrations_pkey",
        "organizations_pkey",
        "provider_callbacks_pkey",
        "secret_canary_pkey",
        "work_lanes_pkey",
        "work_pkey",
        "write_probes_pkey"
      ])
    }))
})

/** A migration that changes too little for PostgreSQL to tell the other sessions at once. */
const small = { "0001_small": SqlClient.SqlClient.use((sql) => sql`CREATE TABLE small (id integer)`) }

it.layer(empty)("A small migration", (it) => {
  it.effect("is applied once by processes that start at the same time", () =>
    Effect.gen(function*() {
      const done = yield* runAtOnce(5, Migrations.migrate(small))
      assert.lengthOf(done.filter((migrations) => migrations.length > 0), 1)
    }))
})

/** Adds a column to the contacts, which needs an exclusive lock. */
const nicknames = {
  "9999_nicknames": SqlClient.SqlClient.use((sql) => sql`ALTER TABLE contacts ADD COLUMN nickname text`)
}

/** Reads the contacts for as long as it likes, as a dump does. */
const dump = Effect.fnUntraced(function*(until: Effect.Effect<unknown>) {
  const sql = yield* SqlClient.SqlClient
  const reading = yield* Latch.make()
  const reader = Effect.gen(function*() {
    yield* sql`SET LOCAL transaction_timeout = 0`
    yield* sql`SET LOCAL idle_in_transaction_session_timeout = 0`
    yield* sql`LOCK TABLE contacts IN ACCESS SHARE MODE`
    yield* reading.open
    yield* until
  }).pipe(sql.withTransaction)
  const fiber = yield* Effect.forkChild(reader)
  yield* reading.await
  return fiber
})

it.layer(Database.layer, { excludeTestServices: true })("A migration of a table that is being dumped", (it) => {
  it.effect("allows writes while it waits, and is applied after the dump", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [dumped, waited] = [yield* Latch.make(), yield* Latch.make()]
      const dumping = yield* dump(dumped.await)
      const logger = Logger.make(({ message }) => {
        if (String(message).includes("locked a table")) waited.openUnsafe()
      })
      const migrating = yield* Migrations.migrate(nicknames).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.forkChild
      )
      yield* waited.await
      yield* sql`UPDATE contacts SET notes = notes`
      assert.isUndefined(dumping.pollUnsafe())

      yield* dumped.open
      assert.deepStrictEqual(yield* Fiber.join(migrating), [[9999, "nicknames"]])
      assert.deepStrictEqual(yield* sql`SELECT nickname FROM contacts`, [])
      yield* Fiber.join(dumping)
    }))
})

/** The schema of 0008, with more contacts than one slice copies. */
const former = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const until = Object.entries(Migrations.record).filter(([name]) => Number.parseInt(name) <= 8)
  yield* Migrations.migrate(Object.fromEntries(until))
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${one("0")}, 'Ours', now())`
  yield* sql`
    INSERT INTO channels
      (organization_id, id, type, name, address, phone_messaging_business_account_id, connected_at)
    VALUES (${one("0")}, ${one("1")}, 'phone_messaging', 'Channel', '+49', 'account', now())
  `
  yield* sql`
    INSERT INTO tags (organization_id, id, name, name_key, color)
    VALUES (${one("0")}, ${one("2")}, 'B', 'b', 'red'), (${one("0")}, ${one("3")}, 'a', 'a', 'blue')
  `
  yield* sql`
    INSERT INTO contacts (organization_id, id, first_name, custom_values, updated_at)
    SELECT ${one("0")}::uuid, ${id("n")}, 'Kim ' || n, '{}', now()
    FROM generate_series(1, 2500) AS n
  `
  yield* sql`
    INSERT INTO contact_texts (organization_id, contact_id, search_text)
    SELECT organization_id, id, lower(first_name)
    FROM contacts
  `
  yield* sql`
    INSERT INTO contact_tags (organization_id, contact_id, tag_id)
    SELECT ${one("0")}::uuid, ${id("n")}, tag_id
    FROM generate_series(1, 2500, 2) AS n, unnest(ARRAY[${one("2")}, ${one("3")}]::uuid[]) AS tag_id
  `
  yield* sql`
    INSERT INTO identities (organization_id, id, contact_id, channel_type, external_id)
    SELECT ${one("0")}::uuid, ${id("n")}, ${id("1 + n / 2")}, 'phone_messaging', 'person ' || n
    FROM generate_series(1, 2500) AS n
  `
  yield* sql`
    INSERT INTO conversations
      (organization_id, id, channel_id, contact_id, identity_id, status, created_at, opened_at, last_activity_at)
    VALUES (${one("0")}, ${one("4")}, ${one("1")}, ${id("1")}, ${id("1")}, 'open', now(), now(), now())
  `
  yield* messages("generate_series(1, 6000)")
  yield* sql`
    INSERT INTO parked_reports (organization_id, channel_id, provider_message_id, status, at, parked_at)
    VALUES (${one("0")}, ${one("1")}, 'early', 'read', '2026-01-01T00:00:00Z', now())
  `
  yield* sql`
    INSERT INTO media (organization_id, id, filename, bytes)
    VALUES (${one("0")}, ${one("5")}, 'a.bin', convert_to(repeat(chr(7), 100000), 'UTF8'))
  `
})

const one = (digit: string): string => `0000000${digit}-0000-7000-8000-000000000000`

/** The SQL of an id by a number. */
const id = (number: string) =>
  Statement.literal(`('00000000-0000-7000-8000-' || lpad((${number})::text, 12, '0'))::uuid`)

const messages = (numbers: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      INSERT INTO messages
        (organization_id, conversation_id, id, channel_id, direction, type, sender, status, provider_message_id, created_at)
      SELECT ${one("0")}::uuid, ${one("4")}::uuid, ${id("n")}, ${one("1")}::uuid, 'inbound', 'text', '{}', 'received',
        'message ' || n, now()
      FROM ${sql.literal(numbers)} AS n
    `
  )

/** The writes of a process of the earlier version. */
const write = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE contact_texts SET search_text = 'renamed' WHERE contact_id = ${id("2")}`
  yield* sql`UPDATE identities SET username = 'kim' WHERE id = ${id("7")}`
  yield* sql`DELETE FROM contact_tags WHERE contact_id = ${id("3")} AND tag_id = ${one("3")}`
  yield* sql`DELETE FROM contact_tags WHERE contact_id = ${id("5")}`
  yield* Effect.gen(function*() {
    yield* sql`
      INSERT INTO identities (organization_id, id, contact_id, channel_type, external_id)
      VALUES (${one("0")}, ${id("9001")}, ${id("9001")}, 'photo_social', 'somebody new')
    `
    yield* sql`
      INSERT INTO contacts (organization_id, id, first_name, custom_values, updated_at)
      VALUES (${one("0")}, ${id("9001")}, 'New', '{}', now())
    `
    yield* sql`
      INSERT INTO contact_texts (organization_id, contact_id, search_text)
      VALUES (${one("0")}, ${id("9001")}, 'new')
    `
  }).pipe(sql.withTransaction)
  yield* messages("generate_series(9001, 9002)")
})

/** The contacts whose copies differ from the originals, and the messages without a row for the provider's id. */
const wrong = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const contacts = yield* sql`
    SELECT c.id
    FROM contacts c
    JOIN contact_texts t ON t.contact_id = c.id
    WHERE (c.search_text, c.identities, c.tags) IS DISTINCT FROM (
      t.search_text,
      (
        SELECT coalesce(jsonb_agg(to_jsonb(i) - '{organization_id,contact_id,version}'::text[] ORDER BY i.id), '[]')
        FROM identities i
        WHERE i.contact_id = c.id
      ),
      (
        SELECT coalesce(jsonb_agg(to_jsonb(g) - '{organization_id,name_key,version}'::text[] ORDER BY g.name_key), '[]')
        FROM contact_tags ct
        JOIN tags g ON g.id = ct.tag_id
        WHERE ct.contact_id = c.id
      )
    )
  `
  const absent = yield* sql`
    SELECT m.provider_message_id
    FROM messages m
    LEFT JOIN provider_messages p ON p.provider_message_id = m.provider_message_id
      AND p.message_id = m.id AND p.conversation_id = m.conversation_id
    WHERE p.message_id IS NULL
  `
  return [...contacts, ...absent]
})

const early = SqlClient.SqlClient.use((sql) =>
  sql`SELECT provider_message_id, early_updates FROM provider_messages WHERE message_id IS NULL`
)

const files = SqlClient.SqlClient.use((sql) =>
  sql`
    SELECT filename, byte_size, start, encode(substring(bytes FROM 99999 FOR 9), 'hex') AS slice
    FROM media
    JOIN media_slices ON (media.organization_id, media.id) = (media_slices.organization_id, media_id)
  `
)

const earlyUpdates = [
  { provider_message_id: "early", early_updates: [{ status: "read", at: "2026-01-01T00:00:00.000Z" }] }
]

it.layer(empty, { excludeTestServices: true })("An upgrade from 0008", (it) => {
  it.effect("fills the copies of each contact, inserts a row for each provider message, and creates the indexes", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* former
      // An invalid index, as a process leaves it that dies while it builds it.
      yield* sql`CREATE INDEX contacts_owned ON contacts (id)`
      yield* sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'contacts_owned'::regclass`
      const done = yield* runAtOnce(3)
      const applied = Object.keys(Migrations.record)
        .map((name) => [Number.parseInt(name), name.slice(5)] as const)
        .filter(([number]) => number > 8)
      assert.deepStrictEqual(done.filter((migrations) => migrations.length > 0), [applied])
      assert.deepStrictEqual(yield* wrong, [])
      assert.deepStrictEqual(yield* early, earlyUpdates)
      assert.deepStrictEqual(yield* files, [{ filename: "a.bin", byte_size: 100_000, start: 0, slice: "0707" }])
      const indexes = yield* sql`
        SELECT indexdef ~ 'owner_user_id IS NOT NULL' AS partial, indisvalid AS valid
        FROM pg_indexes
        JOIN pg_index ON indexrelid = indexname::regclass
        WHERE schemaname = current_schema() AND indexname = 'contacts_owned'
      `
      assert.deepStrictEqual(indexes, [{ partial: true, valid: true }])
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM pg_trigger WHERE tgname = 'copied'`, [])
    }))
})

it.layer(empty, { excludeTestServices: true })("An upgrade from 0008", (it) => {
  it.effect("keeps the copies current for writes between its preparation and its transaction", () =>
    Effect.gen(function*() {
      yield* former
      yield* prepare((step) => step)
      yield* write
      yield* Migrations.migrate(Migrations.record)
      assert.deepStrictEqual(yield* wrong, [])
      assert.deepStrictEqual(yield* early, earlyUpdates)
    }))
})

it.layer(empty, { excludeTestServices: true })("An upgrade from 0012", (it) => {
  it.effect("revokes keys that did not work because of their member, and no other; records cannot be changed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const before = Object.fromEntries(
        Object.entries(Migrations.record).filter(([name]) => Number.parseInt(name) < 15)
      )
      yield* Migrations.migrate(before)
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${one("0")}, 'Acme', now())`
      const members = [["1", "owner", null], ["2", "member", null], ["3", "admin", new Date(0)]] as const
      for (const [digit, role, left_at] of members) {
        yield* sql`
          INSERT INTO members (organization_id, id, name, email, email_key, role, created_at, left_at)
          VALUES (${one("0")}, ${one(digit)}, 'Ada', ${`${digit}@b`}, ${`${digit}@b`}, ${role}, now(), ${left_at})
        `
        // As a process of the earlier version writes it, which may run beside the later one.
        yield* sql`
          INSERT INTO api_keys
            (organization_id, id, digest, name, last_four, scopes, created_by, created_at, expires_at)
          VALUES (${one("0")}, ${one(digit)}, ${digit.repeat(64)}, 'k', 'aaaa', '["tags:read"]', ${
          one(digit)
        }, now(), now())
        `
      }
      yield* Migrations.migrate(Migrations.record)
      const keys = yield* sql`SELECT id, revoked_at IS NOT NULL AS revoked, version FROM api_keys ORDER BY id`
      assert.deepStrictEqual(keys, [
        { id: one("1"), revoked: false, version: 1 },
        { id: one("2"), revoked: true, version: 2 },
        { id: one("3"), revoked: true, version: 2 }
      ])
      const parts = yield* sql`SELECT id FROM api_keys AS stored WHERE stored::text LIKE '%aaaa%'`
      assert.deepStrictEqual(parts, [], "only the digest of a key is stored")
      yield* sql`
        INSERT INTO audit_records (organization_id, at, id, operation, resource_id)
        VALUES (${one("0")}, now(), ${one("1")}, 'tags.create', ${one("2")})
      `
      const changed = yield* Effect.exit(sql`UPDATE audit_records SET operation = 'tags.remove'`)
      assert.isTrue(Exit.isFailure(changed))
      assert.deepStrictEqual(yield* sql`SELECT operation FROM audit_records`, [{ operation: "tags.create" }])
    }))
})
