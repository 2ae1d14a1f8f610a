import { assert, it } from "@effect/vitest"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect, Fiber, Latch, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../testing/Database.ts"

const empty = Database.layerClient.pipe(Layer.provideMerge(Database.Database.layer))

it.layer(empty)("Migrations", (it) => {
  it.effect("are done once by one of five processes that start at once", () =>
    Effect.gen(function*() {
      assert.isFalse(yield* Migrations.isCurrent)
      const processes = yield* Effect.all(
        Array.from({ length: 5 }, () => Layer.build(Layer.fresh(Database.layerClient)))
      )
      const done = yield* Effect.forEach(processes, (process) => Effect.provideContext(Migrations.run, process), {
        concurrency: "unbounded"
      })
      assert.lengthOf(done.filter((migrations) => migrations.length > 0), 1)
      assert.isTrue(yield* Migrations.isCurrent)
    }))

  it.effect("leave no table whose rows could belong to no organization, and no key that does not start with it", () =>
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
      // What is found by something that names no organization, and the queue and the callbacks, which serve them all.
      assert.deepStrictEqual(keys.map(({ key }) => key), [
        "api_key_windows_pkey",
        "api_keys_digest_key",
        "channels_id_key",
        "messaging_crm_migrations_pkey",
        "organizations_pkey",
        "provider_callbacks_pkey",
        "work_lanes_pkey",
        "work_pkey"
      ])
    }))
})

/** Adds a column to the contacts, which nobody may hold meanwhile. */
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
  it.effect("lets writes pass while it waits, and is done when the dump is", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [dumped, waited] = [yield* Latch.make(), yield* Latch.make()]
      const dumping = yield* dump(dumped.await)
      const logger = Logger.make(({ message }) => {
        if (String(message).includes("waiting for it")) waited.openUnsafe()
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
