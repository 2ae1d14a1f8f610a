import { assert, expect, it } from "@effect/vitest"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect, Exit, Fiber, Latch, Layer, Logger, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Files from "../src/database/schema/Files.ts"
import * as Database from "../testing/Database.ts"
import { dump as dumpSchema } from "../testing/SchemaDump.ts"

/** A file of a schema. Its hash is its text. */
const file = (name: string, text: string) => ({ name, text, hash: text })

/** A schema of one file of tables. */
const schemaOf = (name: string, text: string) => ({ version: "1.0.0", tables: [file(name, text)], functions: [] })

const empty = Database.layerClient.pipe(Layer.provideMerge(Database.Database.layer))

/** A test with an empty database of its own. */
const testEmpty = <A, E>(name: string, test: Effect.Effect<A, E, Layer.Success<typeof empty> | Scope.Scope>) =>
  it.effect(name, () => Effect.provide(test, empty))

/** Migrates with several processes at once, and returns the migrations that each has applied. */
const runAtOnce = Effect.fnUntraced(function*(count: number, run: typeof Migrations.run = Migrations.run) {
  const processes = yield* Effect.all(
    Array.from({ length: count }, () => Layer.build(Layer.fresh(Database.layerClient)))
  )
  return yield* Effect.forEach(processes, (process) => Effect.provideContext(run, process), {
    concurrency: "unbounded"
  })
})

testEmpty(
  "migrations are applied once by five processes that start at the same time",
  Effect.gen(function*() {
    assert.isFalse(yield* Migrations.isCurrent)
    const done = yield* runAtOnce(5)
    assert.lengthOf(done.filter((migrations) => migrations.length > 0), 1)
    assert.isTrue(yield* Migrations.isCurrent)
  })
)

it.layer(Database.layer)("Applied migrations", (it) => {
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
        "messaging_crm_schema_pkey",
        "organizations_pkey",
        "provider_callbacks_pkey",
        "secret_canary_pkey",
        "work_lanes_pkey",
        "work_pkey",
        "write_probes_pkey"
      ])
    }))

  it.effect("create the schema that `schema.sql` shows", () =>
    Effect.gen(function*() {
      const schema =
        `-- The schema, as PostgreSQL shows it. Its sources are in src/database/schema. To write this file again:\n`
        + `-- npm test -- packages/adapter-postgres/test/Migrations.test.ts --update\n\n${yield* dumpSchema}`
      yield* Effect.promise(() => expect(schema).toMatchFileSnapshot("../schema.sql"))
    }))

  it.effect("leave no audit record that can be changed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const id = "00000000-0000-7000-8000-000000000000"
      yield* sql`
        INSERT INTO audit_records (organization_id, at, id, operation, resource_id)
        VALUES (${id}, now(), ${id}, 'tags.create', ${id})
      `
      const changed = yield* Effect.exit(sql`UPDATE audit_records SET operation = 'tags.remove'`)
      assert.isTrue(Exit.isFailure(changed))
      assert.deepStrictEqual(yield* sql`SELECT operation FROM audit_records`, [{ operation: "tags.create" }])
    }))
})

const response = SqlClient.SqlClient.use((sql) => sql<{ readonly response: number }>`SELECT response() AS response`)
  .pipe(
    Effect.map(([row]) => row?.response)
  )

testEmpty(
  "a function is replaced when its text changes, but not by an older version",
  Effect.gen(function*() {
    const returning = (value: number, version: string) => ({
      version,
      tables: [file("tables/0001_first", "CREATE TABLE first (); CREATE TABLE second ()")],
      functions: [
        file(
          "functions/response",
          `CREATE OR REPLACE FUNCTION response() RETURNS integer LANGUAGE sql RETURN ${value}`
        )
      ]
    })
    assert.deepStrictEqual(yield* Migrations.migrate(returning(1, "1.9.0")), [
      "tables/0001_first",
      "functions/response"
    ])
    assert.deepStrictEqual(yield* Migrations.migrate(returning(2, "1.9.0")), ["functions/response"])
    assert.deepStrictEqual(yield* Migrations.migrate(returning(1, "1.10.0")), ["functions/response"])
    assert.deepStrictEqual(yield* Migrations.migrate(returning(2, "1.9.0")), [])
    assert.deepStrictEqual(yield* Migrations.migrate(returning(1, "1.10.0")), [])
    assert.strictEqual(yield* response, 1)
  })
)

testEmpty(
  "a schema of an unreleased version is not migrated, because a file of its tables has changed",
  Effect.gen(function*() {
    yield* Migrations.migrate(schemaOf("tables/0001_first", "CREATE TABLE first ()"))
    const changed = schemaOf("tables/0001_first", "CREATE TABLE first (id integer)")
    assert.deepStrictEqual(yield* Effect.flip(Migrations.migrate(changed)), new Migrations.UnreleasedSchema())
  })
)

testEmpty(
  "a schema of an unreleased version is not migrated, because it has numbered migrations",
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE messaging_crm_migrations (migration_id integer)`
    assert.deepStrictEqual(yield* Effect.flip(Migrations.isCurrent), new Migrations.UnreleasedSchema())
    assert.deepStrictEqual(yield* Effect.flip(Migrations.run), new Migrations.UnreleasedSchema())
  })
)

/** A schema of a version, whose files of tables have these names. */
const at = (version: string, ...tables: ReadonlyArray<string>) => ({
  version,
  tables: tables.map((name) => file(`tables/${name}.sql`, `CREATE TABLE t${name.slice(0, 4)} ()`)),
  functions: []
})

const [first, added, changed] = ["0001_first", "0002_added@1.0.0", "0003_changed@1.1.0"] as const

testEmpty(
  "a schema of a newer version is accepted by the versions that its files name, and rejected by older ones",
  Effect.gen(function*() {
    const none: ReadonlyArray<string> = []
    yield* Migrations.migrate(at("1.0.0", first))
    yield* Migrations.migrate(at("1.1.0", first, added))
    assert.deepStrictEqual(yield* Migrations.migrate(at("1.0.0", first)), none)
    yield* Migrations.migrate(at("1.2.0", first, added, changed))
    assert.deepStrictEqual(yield* Migrations.migrate(at("1.1.0", first, added)), none)
    const rejected = yield* Effect.flip(Migrations.migrate(at("1.0.0", first)))
    assert.deepStrictEqual(rejected, new Migrations.NewerSchema({ oldest: "1.1.0" }))
    assert.strictEqual(rejected.message, "a newer version changed its schema. Use version 1.1.0 or later")
  })
)

testEmpty(
  "a schema of a newer version is rejected if a file names no version, by all versions before the one that applied it",
  Effect.gen(function*() {
    yield* Migrations.migrate(at("1.10.0", first, added, changed, "0004_unnamed"))
    const rejected = yield* Effect.flip(Migrations.migrate(at("1.9.0", first)))
    assert.deepStrictEqual(rejected, new Migrations.NewerSchema({ oldest: "1.10.0" }))
  })
)

it("each file of tables that the first release lacks names a released version that works with it", () => {
  // The files of the first release. Another file changes its tables after it.
  const released = /^tables\/000[1-7]_[a-z]+\.sql$/
  for (const { name } of Files.tables.filter(({ name }) => !released.test(name))) {
    const [, oldest = "none"] = /@(\d+\.\d+\.\d+)\.sql$/.exec(name) ?? []
    assert.isAtMost(oldest.localeCompare(Files.version, "en", { numeric: true }), 0, name)
  }
})

/** A migration that changes too little for PostgreSQL to tell the other sessions at once. */
const small = schemaOf("tables/0001_small", "CREATE TABLE small (id integer)")

testEmpty(
  "a small migration is applied once by processes that start at the same time",
  Effect.gen(function*() {
    const done = yield* runAtOnce(5, Migrations.migrate(small))
    assert.lengthOf(done.filter((migrations) => migrations.length > 0), 1)
  })
)

/** Adds a column to the contacts, which needs an exclusive lock. */
const addedColumn = schemaOf("tables/9999_added_column", "ALTER TABLE contacts ADD COLUMN added_column text")

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
      const migrating = yield* Migrations.migrate(addedColumn).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.forkChild
      )
      yield* waited.await
      yield* sql`UPDATE contacts SET notes = notes`
      assert.isUndefined(dumping.pollUnsafe())

      yield* dumped.open
      assert.deepStrictEqual(yield* Fiber.join(migrating), ["tables/9999_added_column"])
      assert.deepStrictEqual(yield* sql`SELECT added_column FROM contacts`, [])
      yield* Fiber.join(dumping)
    }))
})
