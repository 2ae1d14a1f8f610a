import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Who changed what, and when each key was last used.
 *
 * Processes of an earlier version can run beside it: they write no records and no last use. The keys of members who
 * have left, or may not hold keys, did not work and are revoked now.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Without foreign keys, so that a record outlives what it is about, and costs no look-up.
  yield* sql`
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
    )
  `
  // Records are inserted in the order of their time, so a few pages of this index serve the purge.
  yield* sql`CREATE INDEX audit_records_age ON audit_records USING brin (at) WITH (pages_per_range = 32)`
  yield* sql`
    CREATE FUNCTION refuse_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      RAISE EXCEPTION 'records of % are never changed', TG_TABLE_NAME;
    END
    $$
  `
  yield* sql`
    CREATE TRIGGER audit_records_are_final
    BEFORE UPDATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_update()
  `

  yield* sql`ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz(3)`
  yield* sql`
    UPDATE api_keys k
    SET revoked_at = now(), version = k.version + 1
    FROM members m
    WHERE m.organization_id = k.organization_id AND m.id = k.created_by AND k.revoked_at IS NULL
      AND (m.left_at IS NOT NULL OR m.role = 'member')
  `
})
