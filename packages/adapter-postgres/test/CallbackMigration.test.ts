/** Callbacks that an earlier version has stored, before and after the migration that makes them work of the queue. */
import { assert, it } from "@effect/vitest"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Ids } from "@messaging-crm/core/Ids"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Files from "../src/database/schema/Files.ts"
import * as Database from "../testing/Database.ts"

const empty = Database.layerClient.pipe(Layer.provideMerge(Database.Database.layer))

/** The schema of the version that stored callbacks without work. */
const earlier = { ...Files, tables: Files.tables.filter(({ name }) => !name.startsWith("tables/0008")) }

const no_organization = "00000000-0000-0000-0000-000000000000"

/** Stores a callback as an earlier version does. */
const store = Effect.fnUntraced(function*(organization_id: string) {
  const sql = yield* SqlClient.SqlClient
  const id = yield* Fixtures.uuid
  const noon = new Date(Fixtures.noon.epochMilliseconds)
  yield* sql`
    INSERT INTO provider_callbacks (id, source, organization_id, people, body, received_at, due_at)
    VALUES (${id}, 'app', ${organization_id}, '["kim"]', ${Uint8Array.of(1)}, ${noon}, ${noon})
  `
  return id
})

it.layer(Layer.mergeAll(Postgres.layer, Ids.layer).pipe(Layer.provideMerge(empty)), {
  excludeTestServices: true
})("A stored callback", (it) => {
  it.effect("becomes work, whether an earlier version stores it before or after the migration", () =>
    Effect.gen(function*() {
      yield* Migrations.migrate(earlier)
      const organization_id = yield* Fixtures.uuid
      const before = [yield* store(organization_id), yield* store(no_organization), yield* store(organization_id)]
      assert.include(yield* Migrations.run, "tables/0008_callback_work@0.0.0.sql")
      const after = [yield* store(organization_id), yield* store(no_organization)]
      const claimed = yield* Fixtures.claimWork({ at: Fixtures.noon })
      const all = [...before, ...after]
      assert.sameMembers(claimed.map(({ ref }) => ref), all)
      assert.deepStrictEqual(Array.from(new Set(claimed.map(({ kind, lane_cap }) => `${kind} ${lane_cap}`))), [
        "callback 32"
      ])
      assert.deepStrictEqual(yield* Fixtures.areCallbacksStored(all), all.map(() => true))
    }))

  it.effect("has no work after an earlier version has processed it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const id = yield* store(yield* Fixtures.uuid)
      yield* sql`UPDATE provider_callbacks SET token = ${yield* Fixtures.uuid} WHERE id = ${id}`
      yield* sql`DELETE FROM provider_callbacks WHERE id = ${id}`
      assert.notInclude((yield* Fixtures.claimWork({ at: Fixtures.noon })).map(({ ref }) => ref), id)
    }))
})
