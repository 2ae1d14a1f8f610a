import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The files of messages. They are compressed already, so `STORAGE EXTERNAL` turns compression off. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql`
    CREATE TABLE media (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL,
      mime_type text,
      filename text,
      bytes bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(bytes) <= 16000000),
      PRIMARY KEY (organization_id, id)
    )
  `)
