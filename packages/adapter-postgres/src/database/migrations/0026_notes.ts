import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Notes of up to 200,000 characters. Existing ones are shorter, so no row is checked. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql`
    ALTER TABLE contacts
      DROP CONSTRAINT contacts_notes_check,
      ADD CONSTRAINT contacts_notes_check CHECK (char_length(notes) <= 200000) NOT VALID
  `)
