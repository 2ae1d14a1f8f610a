import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Channel and people of the callbacks that are not processed yet, for erasures.
 *
 * Those that are stored already name nobody: the next worker processes them.
 */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql`
    ALTER TABLE provider_callbacks
      ADD COLUMN channel_id uuid,
      ADD COLUMN people jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(people) = 'array')
  `)
