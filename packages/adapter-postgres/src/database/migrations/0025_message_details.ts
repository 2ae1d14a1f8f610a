import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What a message holds in addition to its text and its file. Adding the column rewrites no row. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE messages ADD COLUMN details jsonb`
})
