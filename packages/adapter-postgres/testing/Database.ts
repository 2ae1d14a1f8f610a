import { Clock, Config, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Client from "../src/database/Client.ts"
import * as Migrations from "../src/database/Migrations.ts"

/** A test owns the time of what it tests, not that of the driver's pool. */
const client = (options: Client.Options) =>
  Client.layer(options).pipe(Layer.provide(Layer.sync(Clock.Clock)(Clock.Clock.defaultValue)))

/**
 * An empty schema of its own in the database at `TEST_DATABASE_URL`, dropped
 * when the layer is released. Test files therefore run in parallel, and nothing
 * needs truncating.
 *
 * `url` leads every connection into the schema, so it is all that another
 * client, or another process, needs to join in.
 */
export class Database extends Context.Service<Database, {
  readonly url: Redacted.Redacted
}>()("@messaging-crm/adapter-postgres/testing/Database") {
  static readonly layer = Layer.effect(
    Database,
    Effect.gen(function*() {
      const server = yield* Config.Redacted("TEST_DATABASE_URL")
      const schema = `test_${globalThis.crypto.randomUUID().replaceAll("-", "")}`
      const sql = yield* Effect.map(
        Layer.build(client({ url: server, connections: 1 })),
        Context.get(SqlClient.SqlClient)
      )
      yield* Effect.acquireRelease(
        sql`CREATE SCHEMA ${sql(schema)}`,
        () => Effect.orDie(sql`DROP SCHEMA ${sql(schema)} CASCADE`)
      )
      const url = new URL(Redacted.value(server))
      url.searchParams.set("options", `-csearch_path=${schema}`)
      return { url: Redacted.make(url.href) }
    })
  )
}

/** Layer for another client of the suite's schema, with connections of its own, as another process has. */
export const layerClient = Layer.unwrap(Effect.map(Database, ({ url }) => client({ url })))

/** Layer for a migrated schema of its own and a client of it. */
export const layer = Migrations.layer.pipe(
  Layer.provideMerge(layerClient),
  Layer.provideMerge(Database.layer)
)

/** Layer for a migrated database of its own and a client of it, since PostgreSQL counts deadlocks for each database. */
export const layerAlone = Migrations.layer.pipe(
  Layer.provideMerge(layerClient),
  Layer.provideMerge(Layer.effect(
    Database,
    Effect.gen(function*() {
      const server = yield* Config.Redacted("TEST_DATABASE_URL")
      const name = `test_${globalThis.crypto.randomUUID().replaceAll("-", "")}`
      const run = (statement: string) =>
        SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(
          Effect.provide(client({ url: server, connections: 1 })),
          Effect.orDie
        )
      yield* Effect.acquireRelease(run(`CREATE DATABASE ${name}`), () => run(`DROP DATABASE ${name} WITH (FORCE)`))
      return { url: Redacted.make(Object.assign(new URL(Redacted.value(server)), { pathname: `/${name}` }).href) }
    })
  ))
)

/**
 * Returns how many deadlocks there were in the database.
 *
 * A session that stays open reports its deadlocks up to a minute later, so this ends all other sessions of the database,
 * and has its own session report at once.
 */
export const deadlocks = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const end = sql<{ readonly ended: boolean }>`
    SELECT pg_terminate_backend(pid, 1000) AS ended
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
  `
  yield* Effect.repeat(end, { until: (sessions) => sessions.every(({ ended }) => ended) })
  yield* sql`SELECT pg_stat_force_next_flush()`
  const [row] = yield* sql<{ readonly deadlocks: number }>`
    SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()
  `
  return row?.deadlocks ?? 0
})
