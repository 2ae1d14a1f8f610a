/** The tables need one schema, and several schemas of one database do not affect each other. */
import { assert, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Statistics from "@messaging-crm/adapter-postgres/Statistics"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Ids } from "@messaging-crm/core/Ids"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Clock, Context, DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { functions, tables } from "../src/database/schema/Files.ts"
import * as Database from "../testing/Database.ts"
import * as Databases from "../testing/Databases.ts"
import * as Schemas from "../testing/Schemas.ts"
import { enqueue } from "./WorkQueueScene.ts"

/** One instance of the service in a schema. A test owns the time of what it tests, not that of the driver's pool. */
const instance = (url: string) =>
  Layer.fresh(Layer.mergeAll(layer, Ids.layer)).pipe(
    Layer.provideMerge(Client.layer({ url: Redacted.make(url) })),
    Layer.provide(Layer.sync(Clock.Clock)(Clock.Clock.defaultValue))
  )

type Services = Layer.Success<ReturnType<typeof instance>>

/** The instances of two schemas of a database. One name must be quoted, and the other is a part of it. */
class Two extends Context.Service<Two, {
  readonly urls: ReadonlyArray<string>
  readonly instances: ReadonlyArray<Context.Context<Services>>
}>()("test/Schemas/Two") {
  static readonly layer = Layer.effect(
    Two,
    Effect.gen(function*() {
      const urls = yield* Schemas.create(yield* Databases.empty, ["Cell 2", "Cell"])
      return { urls, instances: yield* Effect.forEach(urls, (url) => Layer.build(instance(url))) }
    })
  )
}

/** Runs an effect in both schemas at once. */
const inBoth = <A, E, R>(effect: Effect.Effect<A, E, R | Services>) =>
  Two.use(({ instances }) =>
    Effect.forEach(instances, (services) => Effect.provideContext(effect, services), { concurrency: "unbounded" })
  )

const inOne = <A, E, R>(index: number, effect: Effect.Effect<A, E, R | Services>) =>
  Two.use(({ instances }) => Effect.provideContext(effect, instances[index] as Context.Context<Services>)) // a test names one of the two

const files = [...tables, ...functions].map(({ name }) => name)

it.layer(Two.layer, { excludeTestServices: true })("Two empty schemas of a database", (it) => {
  it.effect("are migrated at once: neither waits for the lock of the other", () =>
    Effect.gen(function*() {
      const { urls } = yield* Two
      const migrateBoth = Effect.forEach(urls, Databases.migrate, { concurrency: "unbounded" })
      // A migration of the first schema holds its lock while the second schema is migrated.
      const [, second] = yield* inOne(
        0,
        SqlClient.SqlClient.use((sql) =>
          sql.withTransaction(
            Effect.all([
              sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 7308604893))`,
              inOne(1, Migrations.run)
            ])
          )
        )
      )
      assert.deepStrictEqual(second, files)
      assert.deepStrictEqual(yield* migrateBoth, [files, []])
      assert.deepStrictEqual(yield* inBoth(Migrations.isCurrent), [true, true])
    }))
})

/** Both schemas with the tables of the service. */
const migrated = Layer.effectDiscard(inBoth(Migrations.run)).pipe(Layer.provideMerge(Two.layer))

it.layer(migrated, { excludeTestServices: true })("Two schemas of a database", (it) => {
  it.effect("have their own rows and their own work, also of the same IDs", () =>
    Effect.gen(function*() {
      const organization_id = yield* inOne(0, Fixtures.organization)
      yield* inOne(
        1,
        SqlClient.SqlClient.use((sql) =>
          sql`INSERT INTO organizations (id, name, created_at) VALUES (${organization_id}, 'Twin', now())`
        )
      )
      const lane = yield* Fixtures.uuid.pipe(Effect.provide(Ids.layer))
      const refs = yield* inBoth(enqueue(organization_id, lane))
      const claimed = yield* inBoth(Effect.gen(function*() {
        const queue = yield* WorkQueue
        const now = DateTime.makeUnsafe(1000)
        const lease_until = DateTime.add(now, { hours: 1 })
        return yield* queue.claim({ kind: "send", limit: 8, now, lease_until, token: yield* Fixtures.uuid })
      }))
      assert.deepStrictEqual(claimed.map((items) => items.map(({ ref }) => ref)), refs.map((ref) => [ref]))
      const counts = yield* inBoth(
        SqlClient.SqlClient.use((sql) => sql`SELECT count(*)::int AS count FROM organizations`)
      )
      assert.deepStrictEqual(counts, [[{ count: 1 }], [{ count: 1 }]])
    }))

  it.effect("have their own statistics", () =>
    Effect.gen(function*() {
      const fill = SqlClient.SqlClient.use((sql) =>
        sql`
        INSERT INTO audit_records (organization_id, at, id, operation, resource_id)
        SELECT gen_random_uuid(), now(), gen_random_uuid(), 'tags.create', gen_random_uuid() FROM generate_series(1, 5000)
      `
      )
      // Otherwise autovacuum might be faster.
      yield* inBoth(SqlClient.SqlClient.use((sql) => sql`ALTER TABLE audit_records SET (autovacuum_enabled = false)`))
      yield* inOne(0, fill)
      assert.deepStrictEqual(yield* inOne(1, Statistics.refresh), [])
      assert.deepStrictEqual(yield* inOne(0, Statistics.refresh), ["audit_records"])
    }))
})

it.layer(Database.layer)("A schema", (it) => {
  it.effect("is the only one that a session searches, and not `public`", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* sql`SELECT current_setting('search_path') AS path`, [{ path: "crm" }])
    }))

  it.effect("must exist: a session does not use the next one", () =>
    Effect.gen(function*() {
      const url = Schemas.inSchema(yield* Databases.empty, "absent")
      const error = yield* Effect.flip(
        Effect.provide(
          SqlClient.SqlClient.use((sql) => sql`SELECT 1`),
          Client.layer({ url: Redacted.make(url), connections: 1 })
        )
      )
      assert.match(error.message, /has no schema of the search path "absent"\. Create it with CREATE SCHEMA/)
    }).pipe(Effect.scoped))

  it.effect("depends on nothing in another schema, so that it can be distributed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      // Every kind of object that can depend on others: tables, foreign keys, defaults, indexes, triggers, types, functions.
      const foreign = yield* sql`
        WITH objects AS (
          SELECT 'pg_class'::regclass AS class, oid, relnamespace AS namespace FROM pg_class
          UNION ALL SELECT 'pg_proc'::regclass, oid, pronamespace FROM pg_proc
          UNION ALL SELECT 'pg_type'::regclass, oid, typnamespace FROM pg_type
          UNION ALL SELECT 'pg_constraint'::regclass, oid, connamespace FROM pg_constraint
          UNION ALL SELECT 'pg_trigger'::regclass, pg_trigger.oid, relnamespace
            FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
          UNION ALL SELECT 'pg_attrdef'::regclass, pg_attrdef.oid, relnamespace
            FROM pg_attrdef JOIN pg_class ON pg_class.oid = adrelid
          UNION ALL SELECT 'pg_collation'::regclass, oid, collnamespace FROM pg_collation
          UNION ALL SELECT 'pg_operator'::regclass, oid, oprnamespace FROM pg_operator
          UNION ALL SELECT 'pg_opclass'::regclass, oid, opcnamespace FROM pg_opclass
        )
        SELECT pg_describe_object(classid, objid, objsubid) AS object, used.namespace::regnamespace::text AS schema
        FROM pg_depend
        JOIN objects own ON own.class = classid AND own.oid = objid
        JOIN objects used ON used.class = refclassid AND used.oid = refobjid
        WHERE own.namespace = current_schema()::regnamespace
          AND used.namespace NOT IN (own.namespace, 'pg_catalog'::regnamespace)
          AND NOT (deptype IN ('i', 'a') AND used.namespace = 'pg_toast'::regnamespace)
      `
      assert.deepStrictEqual(foreign, [])
    }))

  it.effect("has no view, rule, type, or extension of its own, and no function with a search path", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const found = yield* sql`
        SELECT relname::text AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind NOT IN ('r', 'i', 'S')
        UNION ALL
        SELECT typname FROM pg_type
        WHERE typnamespace = current_schema()::regnamespace AND typrelid = 0 AND typcategory <> 'A'
        UNION ALL
        SELECT proname FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND array_to_string(proconfig, ',') ~ 'search_path'
        UNION ALL
        SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'
      `
      assert.deepStrictEqual(found, [])
    }))
})

it("no file of the schema names a schema", () => {
  const named = [...tables, ...functions].filter(({ text }) =>
    /\b(public|crm|pg_temp)\s*\.|search_path|CREATE SCHEMA|CREATE EXTENSION/i.test(text.replace(/--.*/g, ""))
  )
  assert.deepStrictEqual(named.map(({ name }) => name), [])
})
