import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The work queue and the idempotency records.
 *
 * `work` is small and changes often: an item is deleted when it is done.
 * `work_lanes` has one row for each lane with items. Workers search it for due
 * lanes, and lock its row while they claim and settle the lane's items.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE work_lanes (
      name text COLLATE "C" PRIMARY KEY,
      cap smallint NOT NULL,
      allowed smallint NOT NULL,
      fifo boolean NOT NULL,
      inflight smallint NOT NULL DEFAULT 0,
      next_due timestamptz(3) NOT NULL,
      paused_until timestamptz(3),
      served_at timestamptz(3),
      CHECK (inflight BETWEEN 0 AND cap),
      CHECK (allowed BETWEEN 1 AND cap)
    )
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)
  `
  yield* sql`CREATE INDEX work_lanes_due ON work_lanes (next_due) WHERE inflight < allowed`
  // `seq` is assigned while the lane's subject is locked, so within a lane it is the order of the commits.
  yield* sql`
    CREATE TABLE work (
      id uuid PRIMARY KEY,
      organization_id uuid NOT NULL REFERENCES organizations,
      lane_name text COLLATE "C" NOT NULL,
      kind text NOT NULL,
      lane uuid NOT NULL,
      ref uuid NOT NULL,
      seq bigint GENERATED ALWAYS AS IDENTITY,
      due_at timestamptz(3) NOT NULL,
      attempt integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
      leased_until timestamptz(3),
      token uuid,
      trace text COLLATE "C" CHECK (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$'),
      CONSTRAINT work_ref_unique UNIQUE (kind, ref),
      CHECK ((leased_until IS NULL) = (token IS NULL))
    )
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)
  `
  yield* sql`CREATE INDEX work_ready ON work (lane_name, due_at, seq) WHERE leased_until IS NULL`
  yield* sql`CREATE INDEX work_order ON work (lane_name, seq)`
  yield* sql`CREATE INDEX work_held ON work (lane_name, leased_until) WHERE leased_until IS NOT NULL`
  yield* sql`
    CREATE TABLE idempotency_keys (
      organization_id uuid NOT NULL REFERENCES organizations,
      key text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 8 AND 200),
      fingerprint text NOT NULL CHECK (char_length(fingerprint) = 64),
      status smallint NOT NULL,
      body bytea NOT NULL,
      sealed boolean NOT NULL,
      request_id text NOT NULL,
      created_at timestamptz(3) NOT NULL,
      PRIMARY KEY (organization_id, key)
    )
  `
  yield* sql`CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)`
})
