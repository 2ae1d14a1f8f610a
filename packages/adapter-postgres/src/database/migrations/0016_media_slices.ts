import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The bytes of files in slices, so that no process holds a whole file.
 *
 * No bytes move: what was the row of a file becomes its only slice, and its
 * description a row of a new table. A file without a size is in the making.
 */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach([
    sql`ALTER TABLE media RENAME TO media_slices`,
    sql`ALTER TABLE media_slices RENAME COLUMN id TO media_id`,
    sql`
      ALTER TABLE media_slices
        DROP CONSTRAINT media_pkey,
        ADD COLUMN start integer NOT NULL DEFAULT 0 CHECK (start >= 0)
    `,
    sql`
      CREATE TABLE media (
        organization_id uuid NOT NULL REFERENCES organizations,
        id uuid NOT NULL,
        mime_type text,
        filename text,
        byte_size integer CHECK (byte_size BETWEEN 0 AND 16000000),
        begun_at timestamptz NOT NULL,
        PRIMARY KEY (organization_id, id)
      )
    `,
    sql`
      INSERT INTO media (organization_id, id, mime_type, filename, byte_size, begun_at)
      SELECT organization_id, media_id, mime_type, filename, octet_length(bytes), now()
      FROM media_slices
    `,
    sql`CREATE INDEX media_unfinished ON media (begun_at) WHERE byte_size IS NULL`,
    sql`
      ALTER TABLE media_slices
        ALTER COLUMN start DROP DEFAULT,
        DROP COLUMN mime_type,
        DROP COLUMN filename,
        ADD PRIMARY KEY (organization_id, media_id, start),
        ADD FOREIGN KEY (organization_id, media_id) REFERENCES media ON DELETE CASCADE
    `
  ], (statement) =>
    statement, { discard: true }))
