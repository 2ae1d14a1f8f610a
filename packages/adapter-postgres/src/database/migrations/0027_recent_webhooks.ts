import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Webhooks are listed newest first. Of the active ones, at most 100 in an organization, `webhooks_active` has all. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE INDEX webhooks_recent ON webhooks (organization_id, created_at DESC, id DESC)`
  yield* sql`DROP INDEX webhooks_listed`
})
