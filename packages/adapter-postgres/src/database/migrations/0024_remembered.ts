import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Idempotency records without a response: of writes that changed nothing, whose retries are answered with the resource. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql`
    ALTER TABLE idempotency_keys
      ALTER COLUMN status DROP NOT NULL,
      ALTER COLUMN body DROP NOT NULL,
      ADD CHECK ((status IS NULL) = (body IS NULL))
  `)
