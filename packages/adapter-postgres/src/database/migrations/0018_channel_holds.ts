import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Why the sends of a channel wait: at most one row for each channel.
 *
 * A new table beside the others: processes of an earlier version go on, and do not wait.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE channel_holds (
      organization_id uuid NOT NULL,
      channel_id uuid NOT NULL,
      reason text COLLATE "C" NOT NULL,
      held_at timestamptz(3) NOT NULL,
      until timestamptz(3),
      level smallint NOT NULL,
      version integer NOT NULL DEFAULT 1,
      PRIMARY KEY (organization_id, channel_id),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels
    )
  `
  yield* sql`CREATE INDEX channel_holds_paused ON channel_holds (reason) WHERE until IS NULL`
})
