import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Organizations, their members, and the keys that act for them. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE organizations (
      id uuid PRIMARY KEY,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
      created_at timestamptz(3) NOT NULL
    )
  `
  yield* sql`
    CREATE TABLE members (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
      email text NOT NULL CHECK (char_length(email) BETWEEN 3 AND 320),
      email_key text COLLATE "C" NOT NULL,
      role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
      created_at timestamptz(3) NOT NULL,
      left_at timestamptz(3),
      PRIMARY KEY (organization_id, id)
    )
  `
  yield* sql`
    CREATE UNIQUE INDEX members_email_key_unique ON members (organization_id, email_key) WHERE left_at IS NULL
  `
  yield* sql`
    CREATE TABLE api_keys (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL,
      digest text COLLATE "C" NOT NULL UNIQUE CHECK (char_length(digest) = 64),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
      last_four text NOT NULL CHECK (char_length(last_four) = 4),
      scopes jsonb NOT NULL CHECK (jsonb_array_length(scopes) > 0),
      created_by uuid NOT NULL,
      created_at timestamptz(3) NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      revoked_at timestamptz(3),
      PRIMARY KEY (organization_id, id),
      FOREIGN KEY (organization_id, created_by) REFERENCES members (organization_id, id)
    )
  `
  // Unlogged saves a disk write for each request. After a crash of the database the table is empty and windows begin anew.
  yield* sql`
    CREATE UNLOGGED TABLE api_key_windows (
      key_id uuid PRIMARY KEY,
      opened_at timestamptz NOT NULL,
      count integer NOT NULL CHECK (count > 0)
    )
    WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)
  `
})
