import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Bodies of callbacks, from before the network is answered until they are taken in. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE provider_callbacks (
      id uuid PRIMARY KEY,
      source text NOT NULL,
      body bytea NOT NULL,
      received_at timestamptz(3) NOT NULL,
      due_at timestamptz(3) NOT NULL,
      attempt integer NOT NULL DEFAULT 0,
      token uuid
    )
  `
  yield* sql`CREATE INDEX provider_callbacks_due ON provider_callbacks (due_at, id)`
})
