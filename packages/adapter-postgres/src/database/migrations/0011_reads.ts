import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** An index in the order of the list of webhooks. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE INDEX webhooks_listed ON webhooks (organization_id, (status = 'active') DESC, created_at DESC, id DESC)
  `
  yield* sql`DROP INDEX webhooks_recent`
})
