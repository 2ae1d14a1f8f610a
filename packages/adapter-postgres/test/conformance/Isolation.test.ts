import { layer } from "@messaging-crm/adapter-postgres"
import { isolationSuite, StoredRows } from "@messaging-crm/conformance/Isolation"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../testing/Database.ts"
import * as Snapshot from "../../testing/Snapshot.ts"

/** Copies the rows of an organization to another one, with later times, except where a unique key forbids it. */
const copy = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, from: string, to: string) {
  const inserts = yield* sql<{ readonly text: string }>`
    SELECT format(
      'INSERT INTO %1$I (%2$s) SELECT %3$s FROM %1$I WHERE organization_id = %4$L ON CONFLICT DO NOTHING',
      table_name,
      string_agg(quote_ident(column_name), ', '),
      string_agg(
        CASE
          WHEN column_name = 'organization_id' THEN quote_literal(${to}::text) || '::uuid'
          WHEN data_type = 'timestamp with time zone' THEN quote_ident(column_name) || ' + interval ''500 days'''
          ELSE quote_ident(column_name)
        END,
        ', '
      ),
      ${from}::text
    ) AS text
    FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_generated = 'NEVER' AND is_identity = 'NO'
    GROUP BY table_name
    HAVING bool_or(column_name = 'organization_id')
  `
  // The copy of a row can lack the rows to which it refers.
  yield* sql`SET LOCAL session_replication_role = 'replica'`
  yield* Effect.forEach(inserts, ({ text }) => sql.unsafe(text), { discard: true })
})

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
      copy: (from, to) => Effect.orDie(sql.withTransaction(copy(sql, from, to))),
      save: Effect.provideService(Effect.map(Snapshot.save, Effect.orDie), SqlClient.SqlClient, sql).pipe(Effect.orDie)
    })
  })
)

isolationSuite("postgres", layer.pipe(Layer.provideMerge(storedRows), Layer.provide(Database.layer)))
