/**
 * Tests of the guarantees of every port, with commits without batches, and without the indexes that only speed up queries: an
 * order that a statement does not ask for is then that of the rows.
 */
import { layer } from "@messaging-crm/adapter-postgres"
import * as Storage from "@messaging-crm/conformance/Storage"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as PlainCommit from "../src/work/Commit.ts"
import * as Database from "../testing/Database.ts"

const withoutIndexes = Layer.effectDiscard(SqlClient.SqlClient.use(Effect.fnUntraced(function*(sql) {
  const indexes = yield* sql<{ readonly name: string }>`
    SELECT indexrelid::regclass::text AS name
    FROM pg_index
    WHERE NOT indisunique AND indrelid IN (
      SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace
    )
  `
  yield* sql.unsafe(`DROP INDEX ${indexes.map(({ name }) => name).join(", ")}`)
})))

const storage = Layer.mergeAll(layer, PlainCommit.layer).pipe(
  Layer.provideMerge(withoutIndexes),
  Layer.provide(Database.layer)
)

Storage.portSuite("postgres without batches and indexes", storage, { runs: 5 })
