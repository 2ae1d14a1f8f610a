/** Databases on the test server. */
import { Clock, Config, ConfigProvider, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Client from "../src/database/Client.ts"
import * as Migrations from "../src/database/Migrations.ts"

/** Lets an effect create its databases on a server. */
export const onServer = (url: string) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url })))

/** A test owns the time of what it tests, not that of the driver's pool. */
const clientOf = (url: string) =>
  Client.layer({ url: Redacted.make(url), connections: 1 }).pipe(
    Layer.provide(Layer.sync(Clock.Clock)(Clock.Clock.defaultValue))
  )

/** Runs a statement in a database. */
export const run = (url: string, statement: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(Effect.provide(clientOf(url)), Effect.orDie)

/** Returns the URL of another database on the same server. It is not parsed as a `URL`, which names one host at most. */
const urlOf = (server: string, name: string): string => server.replace(/\/[^/?]*(?=\?|$)/, `/${name}`)

/** Creates the tables of the service in an empty database. */
export const migrate = (url: string) => Migrations.run.pipe(Effect.provide(clientOf(url)), Effect.orDie)

/** Defaults that a server's operator can choose, and that change what statements do in a session that does not set its own. */
const hostile_defaults = {
  array_nulls: "off",
  bytea_output: "escape",
  DateStyle: "SQL, DMY",
  default_transaction_isolation: "serializable",
  gin_fuzzy_search_limit: "1",
  IntervalStyle: "sql_standard",
  lock_timeout: "1ms",
  search_path: "crm, public",
  standard_conforming_strings: "off",
  statement_timeout: "900ms",
  synchronous_commit: "off",
  TimeZone: "Asia/Kathmandu",
  transform_null_equals: "on"
}

/** Creates a table and a function in `public` for each of the service: the tables lack its columns, and the functions fail. */
const createDecoys = `
  DO $do$
  DECLARE
    decoy record;
  BEGIN
    FOR decoy IN SELECT relname FROM pg_class WHERE relnamespace = 'crm'::regnamespace AND relkind = 'r' LOOP
      EXECUTE format('CREATE TABLE public.%I (decoy integer)', decoy.relname);
    END LOOP;
    FOR decoy IN
      SELECT proname, pg_get_function_identity_arguments(oid) AS arguments
      FROM pg_proc
      WHERE pronamespace = 'crm'::regnamespace AND prorettype <> 'trigger'::regtype
    LOOP
      EXECUTE format(
        'CREATE FUNCTION public.%I(%s) RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN RAISE EXCEPTION %L; END $body$',
        decoy.proname,
        decoy.arguments,
        'a statement called a function of the schema public'
      );
    END LOOP;
  END
  $do$
`

/**
 * Creates the database that `migrated` copies, and gives the server's sessions the defaults. Its tables are in the schema `crm`,
 * so that every test also shows that the service needs no other schema. Empty databases have only `public`.
 */
export const createTemplate = Effect.fnUntraced(function*(server: string, name: string) {
  for (const [setting, value] of Object.entries(hostile_defaults)) {
    yield* run(server, `ALTER ROLE ALL SET ${setting} = ${value.includes(",") ? value : `'${value}'`}`)
  }
  yield* run(server, `CREATE DATABASE ${name}`)
  const template = urlOf(server, name)
  yield* run(template, "CREATE SCHEMA crm")
  yield* migrate(template)
  yield* run(template, createDecoys)
})

/**
 * Drops a database after its sessions have ended, and dies if it had a deadlock: an operation that loses one is repeated, so no
 * result shows it. A session reports its deadlocks when it ends.
 */
const drop = Effect.fnUntraced(
  function*(_server: string, name: string) {
    const sql = yield* SqlClient.SqlClient
    const end = sql<{ readonly ended: boolean }>`
      SELECT pg_terminate_backend(pid, 1000) AS ended FROM pg_stat_activity WHERE datname = ${name}
    `
    yield* Effect.repeat(end, { until: (sessions) => sessions.every(({ ended }) => ended) })
    const found = yield* sql<{ readonly count: number }>`
      SELECT deadlocks::int AS count FROM pg_stat_database WHERE datname = ${name} AND deadlocks > 0
    `
    yield* sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
    for (const { count } of found) {
      yield* Effect.die(new Error(`Deadlocks in the database: ${count}. The log of PostgreSQL has their statements.`))
    }
  },
  (effect, server) => Effect.provide(effect, clientOf(server), { local: true }),
  Effect.orDie
)

const createDatabase = Effect.fnUntraced(function*(template: string) {
  const server = yield* Config.String("TEST_DATABASE_URL")
  const name = `test_${globalThis.crypto.randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(
    run(server, `CREATE DATABASE ${name} TEMPLATE ${template}`),
    () => drop(server, name)
  )
  return urlOf(server, name)
})

/** A new database on the test server, dropped when the scope closes. */
export const empty = createDatabase("template1")

/** A new database with the tables of the service. A copy of the server's template is faster than a migration. */
export const migrated = Effect.gen(function*() {
  const template = yield* Config.option(Config.String("TEST_DATABASE_TEMPLATE"))
  if (Option.isSome(template)) return yield* createDatabase(template.value)
  const url = yield* empty
  yield* migrate(url)
  return url
})
