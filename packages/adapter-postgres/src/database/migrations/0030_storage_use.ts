import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The bytes that organizations have stored for a time, by the hour in which they expire. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE storage_use (
      organization_id uuid NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      bytes bigint NOT NULL CHECK (bytes > 0),
      PRIMARY KEY (organization_id, expires_at)
    )
    WITH (fillfactor = 70)
  `
  yield* sql`CREATE INDEX storage_use_age ON storage_use (expires_at)`
})
