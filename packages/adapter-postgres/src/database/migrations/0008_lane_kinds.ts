import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the kind to lanes, which their name begins with: workers claim work of one kind at a time. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    ALTER TABLE work_lanes
    ADD COLUMN kind text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(name, ':', 1)) STORED
  `
  yield* sql`DROP INDEX work_lanes_due`
  yield* sql`CREATE INDEX work_lanes_due ON work_lanes (kind, next_due) WHERE inflight < allowed`
})
