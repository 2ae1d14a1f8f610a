import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StatementDeadline } from "../src/database/StatementDeadline.ts"
import { time_limits, unlimited } from "../src/database/TimeLimits.ts"
import * as Database from "../testing/Database.ts"

/** The time limits that the session of a client has by its settings. */
const limitsOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly name: string }>`
      SELECT name FROM pg_settings WHERE name LIKE '%timeout' AND source IN ('client', 'session') AND setting <> '0'
      ORDER BY name
    `,
    (rows) => rows.map(({ name }) => name)
  )

it.layer(Database.layer)("a transaction without time limits", (it) => {
  it.effect("has none of the session's, and leaves them to the next one", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const limits = Object.keys(time_limits).toSorted()
      assert.deepStrictEqual(yield* limitsOf(sql), limits)
      const inside = Effect.all([limitsOf(sql), StatementDeadline])
      assert.deepStrictEqual(yield* unlimited(sql)(inside), [[], Duration.infinity])
      assert.deepStrictEqual(yield* sql.withTransaction(limitsOf(sql)), limits)
    }))

  it.effect("can still set its isolation level", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* unlimited(sql)(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    }))
})
