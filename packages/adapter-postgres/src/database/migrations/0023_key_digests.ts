import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Of an API key only its digest is stored. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE api_keys DROP COLUMN last_four`
})
