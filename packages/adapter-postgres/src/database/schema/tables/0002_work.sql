-- The work queue, idempotency records, audit records, storage use, and the secret canary.
--
-- Here and in all other tables: a table that many concurrent commits write has no foreign key to rows that core has
-- already read and that are never deleted. Each check would lock the same row, which costs more than the statement itself.

-- Items of work. An item is deleted when it is done. `seq` is the order of insertion.
CREATE TABLE work (
  organization_id uuid NOT NULL,
  lane_name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  lane uuid NOT NULL,
  ref uuid NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  due_at timestamptz(3) NOT NULL,
  attempt integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  leased_until timestamptz(3),
  token uuid,
  trace text COLLATE "C" CHECK (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$'),
  defects integer NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, ref),
  CHECK ((leased_until IS NULL) = (token IS NULL))
)
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX work_ready ON work (lane_name, due_at, seq) WHERE leased_until IS NULL;
CREATE INDEX work_order ON work (lane_name, seq);
CREATE INDEX work_leased ON work (lane_name, leased_until) WHERE leased_until IS NOT NULL;

-- One row for each lane with items, whose name begins with its kind. `work/WorkQueue.ts` describes its states.
CREATE TABLE work_lanes (
  name text COLLATE "C" PRIMARY KEY,
  cap smallint NOT NULL,
  allowed smallint NOT NULL,
  fifo boolean NOT NULL,
  next_due timestamptz(3) NOT NULL,
  paused_until timestamptz(3),
  served_at timestamptz(3),
  kind text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(name, ':', 1)) STORED,
  closed boolean NOT NULL DEFAULT false,
  emptied_at timestamptz(3),
  organization_id uuid NOT NULL,
  CHECK (allowed BETWEEN 1 AND cap)
)
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX work_lanes_due ON work_lanes (kind, organization_id, next_due) WHERE next_due < 'infinity';
CREATE INDEX work_lanes_empty ON work_lanes (emptied_at) WHERE emptied_at IS NOT NULL;

-- A record without status and body claims the key of a request of several commits.
CREATE TABLE idempotency_keys (
  organization_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 8 AND 200),
  fingerprint text NOT NULL CHECK (char_length(fingerprint) = 64),
  status smallint,
  body text,
  sealed boolean NOT NULL,
  request_id text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (organization_id, key),
  CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Who changed what. Without foreign keys, so that a record outlives what it is about, and costs no lookup.
CREATE TABLE audit_records (
  organization_id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  id uuid NOT NULL,
  operation text COLLATE "C" NOT NULL,
  resource_id uuid NOT NULL,
  key_id uuid,
  member_id uuid,
  request_id text COLLATE "C",
  PRIMARY KEY (organization_id, at, id)
);
-- Records are inserted in the order of their time, so a few pages of this index serve the purge.
CREATE INDEX audit_records_age ON audit_records USING brin (at) WITH (pages_per_range = 32);

-- The bytes that organizations have stored for a time, by the hour in which they expire.
CREATE TABLE storage_use (
  organization_id uuid NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  bytes bigint NOT NULL CHECK (bytes > 0),
  PRIMARY KEY (organization_id, expires_at)
)
WITH (fillfactor = 70);
CREATE INDEX storage_use_age ON storage_use (expires_at);

-- One encrypted row, which a process must be able to decrypt before it claims work.
CREATE TABLE secret_canary (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  sealed text COLLATE "C" NOT NULL
);
