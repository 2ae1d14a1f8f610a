import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** One encrypted row, which a process must be able to decrypt before it claims work. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE secret_canary (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      sealed text COLLATE "C" NOT NULL
    )
  `
})
