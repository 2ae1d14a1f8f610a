import { assert, it } from "@effect/vitest"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

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
      // What is found by something that names no organization, and the queue, which serves them all.
      assert.deepStrictEqual(keys.map(({ key }) => key), [
        "api_key_windows_pkey",
        "api_keys_digest_key",
        "channels_id_key",
        "messaging_crm_migrations_pkey",
        "organizations_pkey",
        "work_lanes_pkey",
        "work_pkey",
        "work_ref_unique"
      ])
    }))
})
