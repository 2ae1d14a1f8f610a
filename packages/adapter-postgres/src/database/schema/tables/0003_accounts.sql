-- Organizations, their members, and the keys that act for them.
--
-- Here and in all other tables: keys that are compared or ordered (`email_key`, `name_key`) are computed by core. An
-- update must name the `version` of the row that it changes.

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  created_at timestamptz(3) NOT NULL,
  default_country text CHECK (default_country ~ '^[A-Z]{2}$'),
  version integer NOT NULL DEFAULT 1
);

CREATE TABLE members (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  email text NOT NULL CHECK (char_length(email) BETWEEN 3 AND 320),
  email_key text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  created_at timestamptz(3) NOT NULL,
  left_at timestamptz(3),
  logged_out_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX members_email_key_unique ON members (organization_id, email_key) WHERE left_at IS NULL;

-- Only the digest of a key is stored.
CREATE TABLE api_keys (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL UNIQUE CHECK (char_length(digest) = 64),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  scopes jsonb NOT NULL CHECK (jsonb_array_length(scopes) > 0),
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, created_by) REFERENCES members
);

-- This table is unlogged, which saves a disk write for each request. After a crash of the database the table is empty and windows begin anew.
CREATE UNLOGGED TABLE api_key_windows (
  key_id uuid PRIMARY KEY,
  opened_at timestamptz NOT NULL,
  count integer NOT NULL CHECK (count > 0)
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- An organization that is being moved has one row in each of the two databases. `moves/Moves.ts` describes the states.
CREATE TABLE organization_moves (
  organization_id uuid PRIMARY KEY,
  -- The name of the other database.
  other text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('open', 'draining', 'closed', 'departed', 'arriving', 'arrived')),
  -- The command that runs the move. It checks this value in each of its transactions.
  run uuid NOT NULL,
  -- When the organization was closed for writes.
  closed_at timestamptz(3),
  started_at timestamptz(3) NOT NULL DEFAULT now()
);
