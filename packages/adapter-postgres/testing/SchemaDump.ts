/** The schema of a database as SQL: every table, constraint, index, trigger, and function. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Returns the statements that create the schema, as PostgreSQL shows them: tables with what belongs to them, then functions. */
const statements = (sql: SqlClient.SqlClient) =>
  sql<{ readonly statement: string }>`
    WITH tables AS (
      SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    ), parts AS (
      SELECT attrelid AS relation, attnum::integer AS place, attname AS name, concat_ws(
        ' ',
        attname,
        format_type(atttypid, atttypmod),
        CASE WHEN attstorage <> typstorage THEN 'STORAGE EXTERNAL' END,
        CASE WHEN attcollation <> typcollation THEN 'COLLATE ' || quote_ident(collname) END,
        CASE WHEN attnotnull THEN 'NOT NULL' END,
        CASE attidentity WHEN 'a' THEN 'GENERATED ALWAYS AS IDENTITY' END,
        CASE attgenerated
          WHEN 's' THEN 'GENERATED ALWAYS AS (' || pg_get_expr(adbin, adrelid) || ') STORED'
          ELSE 'DEFAULT ' || pg_get_expr(adbin, adrelid)
        END
      ) AS text
      FROM pg_attribute
      JOIN pg_type ON pg_type.oid = atttypid
      LEFT JOIN pg_collation ON pg_collation.oid = attcollation
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE attnum > 0 AND NOT attisdropped
      UNION ALL
      SELECT conrelid, NULL, conname, format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
      FROM pg_constraint
      WHERE contype <> 'n'
    ), dumped AS (
      SELECT relname AS name, 1 AS kind, '' AS part, format(
        E'CREATE %sTABLE %I (\n  %s\n)%s',
        CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' END,
        relname,
        (SELECT string_agg(text, E',\n  ' ORDER BY place, name) FROM parts WHERE relation = tables.oid),
        E'\nWITH (' || array_to_string(reloptions, ', ') || ')'
      ) AS statement
      FROM tables
      UNION ALL
      SELECT tables.relname, 1, index.relname, pg_get_indexdef(index.oid)
      FROM tables
      JOIN pg_index ON indrelid = tables.oid
      JOIN pg_class index ON index.oid = indexrelid
      WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = index.oid AND contype IN ('p', 'u'))
      UNION ALL
      SELECT tables.relname, 1, index.relname || attnum, format(
        'ALTER INDEX %I ALTER COLUMN %s SET STATISTICS %s', index.relname, attnum, attstattarget
      )
      FROM tables
      JOIN pg_index ON indrelid = tables.oid
      JOIN pg_class index ON index.oid = indexrelid
      JOIN pg_attribute ON attrelid = index.oid AND attstattarget IS NOT NULL
      UNION ALL
      SELECT relname, 1, tgname, pg_get_triggerdef(pg_trigger.oid)
      FROM tables
      JOIN pg_trigger ON tgrelid = tables.oid
      WHERE NOT tgisinternal
      UNION ALL
      SELECT proname, 2, oidvectortypes(proargtypes), trim(E'\n' FROM pg_get_functiondef(oid))
      FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace
    )
    SELECT replace(statement, current_schema() || '.', '') || ';' AS statement
    FROM dumped
    ORDER BY kind, name COLLATE "C", part <> '', part COLLATE "C"
  `

/** Returns the schema of the client's connections. */
export const dump = Effect.gen(function*() {
  const rows = yield* Effect.flatMap(SqlClient.SqlClient, statements)
  return rows.map(({ statement }) => `${statement}\n`).join("\n")
})
