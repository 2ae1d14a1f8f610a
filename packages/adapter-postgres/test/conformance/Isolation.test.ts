import { layer } from "@messaging-crm/adapter-postgres"
import { isolationSuite, StoredRows } from "@messaging-crm/conformance/Isolation"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../testing/Database.ts"
import * as Snapshot from "../../testing/Snapshot.ts"

const storedRows = Layer.effect(
  StoredRows,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const names = yield* sql<{ readonly name: string }>`
      SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    `
    const all = names.map(({ name }) => `SELECT '${name}' AS "table", to_jsonb(stored) AS row FROM ${name} stored`)
    return StoredRows.of({
      all: Effect.orDie(
        sql.unsafe<{ readonly table: string; readonly row: Readonly<Record<string, unknown>> }>(all.join(" UNION ALL "))
      ),
      save: Effect.provideService(Effect.map(Snapshot.save, Effect.orDie), SqlClient.SqlClient, sql).pipe(Effect.orDie)
    })
  })
)

isolationSuite("postgres", layer.pipe(Layer.provideMerge(storedRows), Layer.provide(Database.layer)))
