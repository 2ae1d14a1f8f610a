import { Duration, Effect, Layer, Schedule } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import m0001 from "./migrations/0001_organizations.ts"
import m0002 from "./migrations/0002_catalogues.ts"
import m0003 from "./migrations/0003_contacts.ts"
import m0004 from "./migrations/0004_conversations.ts"
import m0005 from "./migrations/0005_work.ts"
import m0006 from "./migrations/0006_media.ts"
import m0007 from "./migrations/0007_webhooks.ts"
import m0008 from "./migrations/0008_lane_kinds.ts"
import m0009 from "./migrations/0009_commits.ts"
import m0010 from "./migrations/0010_claims.ts"
import m0012 from "./migrations/0012_callbacks.ts"
import { StatementDeadline } from "./StatementDeadline.ts"

/** Every migration, in order. Imported, not read from a folder, so a bundle carries them. */
const record = {
  "0001_organizations": m0001,
  "0002_catalogues": m0002,
  "0003_contacts": m0003,
  "0004_conversations": m0004,
  "0005_work": m0005,
  "0006_media": m0006,
  "0007_webhooks": m0007,
  "0008_lane_kinds": m0008,
  "0009_commits": m0009,
  "0010_claims": m0010,
  "0012_callbacks": m0012
}

const table = "messaging_crm_migrations"
const lock = 7_308_604_893

type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** Returns whether the database has the last of some migrations. It may have newer ones. */
const has = Effect.fnUntraced(function*(migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const [{ present } = { present: false }] = yield* sql<{ readonly present: boolean }>`
    SELECT to_regclass(${table}) IS NOT NULL AS present
  `
  if (!present) return false
  const [{ last } = { last: 0 }] = yield* sql<{ readonly last: number }>`
    SELECT coalesce(max(migration_id), 0) AS last
    FROM ${sql(table)}
  `
  return Object.keys(migrations).every((name) => Number.parseInt(name) <= last)
})

/** Migrates in one transaction: the lock is let go with the commit, and a migration that fails leaves nothing. */
const once = Effect.fnUntraced(function*(migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const migrate = Effect.gen(function*() {
    for (const limit of ["statement_timeout", "transaction_timeout", "lock_timeout"]) {
      yield* sql`SET LOCAL ${sql(limit)} = 0`
    }
    yield* sql`SELECT pg_advisory_xact_lock(${lock})`
    // Whoever wants a table waits behind us while we wait for it.
    yield* sql`SET LOCAL lock_timeout = '2s'`
    return yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })
  })
  return yield* sql.withTransaction(migrate)
})

const isLocked = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError"
    : error instanceof Migrator.MigrationError && isLocked(error.cause)

/**
 * Brings the database's schema up to some migrations. Of several processes at
 * once one does, and the others wait for it.
 *
 * A table that somebody holds, as a dump does, is waited for by 2 seconds at a
 * time, for 10 minutes: in between everybody else gets it.
 */
export const migrate = Effect.fnUntraced(function*(migrations: Migrations) {
  // A database that is up to date is not locked at all.
  if (yield* has(migrations)) return []
  return yield* once(migrations).pipe(
    Effect.provideService(StatementDeadline, Duration.infinity),
    Effect.tapError((error) =>
      isLocked(error)
        ? Effect.logWarning("Another session holds a table that is to be migrated, waiting for it")
        : Effect.void
    ),
    Effect.retry({
      while: isLocked,
      schedule: Schedule.spaced("3 seconds").pipe(Schedule.jittered, Schedule.upTo({ duration: "10 minutes" }))
    })
  )
})

/** Brings the database's schema up to date, and returns the migrations that it lacked. */
export const run = migrate(record)

/** Returns whether the database has every migration that this code was written for. It may have newer ones. */
export const isCurrent = has(record)

/** Layer that migrates when it is built. */
export const layer = Layer.effectDiscard(Effect.orDie(run))
