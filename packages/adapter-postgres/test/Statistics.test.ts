import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Statistics from "../src/database/Statistics.ts"
import * as Database from "../testing/Database.ts"

const organization = "00000000-0000-7000-8000-000000000001"
const nobody = "00000000-0000-7000-8000-000000000002"

const fill = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO organizations (id, name, created_at) VALUES (${organization}, 'Acme', now()) ON CONFLICT DO NOTHING
  `
  yield* sql`
    INSERT INTO contacts (organization_id, id, custom_values, search_text, updated_at)
    SELECT ${organization}::uuid, gen_random_uuid(), '{}', '', now() FROM generate_series(1, ${count}::integer)
  `
})

it.layer(Database.layer, { excludeTestServices: true })("Statistics", (it) => {
  it.effect("are refreshed for tables that grew, and replace the plans made while those were empty", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      // Otherwise autovacuum might be faster.
      yield* sql`ALTER TABLE contacts SET (autovacuum_enabled = false)`
      const session = yield* sql.reserve
      const run = (statement: string) => session.executeUnprepared(statement, [], undefined)
      yield* run("PREPARE look_up AS SELECT * FROM contacts WHERE organization_id = $1 AND id = $2")
      const execute = `EXECUTE look_up ('${organization}', '${nobody}')`
      yield* run(execute)
      yield* fill(5000)
      assert.deepStrictEqual(yield* Statistics.refresh, ["contacts"])
      const plan = yield* run(`EXPLAIN (COSTS OFF) ${execute}`)
      assert.match(JSON.stringify(plan), /contacts_pkey/)
      assert.deepStrictEqual(yield* Statistics.refresh, [])
      yield* fill(20_000)
      assert.deepStrictEqual(yield* Statistics.refresh, ["contacts"])
    }))
})
