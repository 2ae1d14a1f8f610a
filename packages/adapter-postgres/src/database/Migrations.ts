import { Duration, Effect, Layer, Schedule } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import * as Client from "./Client.ts"
import m0001 from "./migrations/0001_organizations.ts"
import m0002 from "./migrations/0002_catalogues.ts"
import m0003 from "./migrations/0003_contacts.ts"
import m0004 from "./migrations/0004_conversations.ts"
import m0005 from "./migrations/0005_work.ts"
import m0006 from "./migrations/0006_media.ts"
import m0007 from "./migrations/0007_webhooks.ts"
import m0008 from "./migrations/0008_lane_kinds.ts"
import m0009 from "./migrations/0009_commits.ts"
import { prepare as prepare0009 } from "./migrations/0009_copies.ts"
import m0011 from "./migrations/0011_reads.ts"
import m0012 from "./migrations/0012_callbacks.ts"
import m0015 from "./migrations/0015_audit.ts"
import m0016 from "./migrations/0016_media_slices.ts"
import m0017 from "./migrations/0017_channel_accounts.ts"
import m0018 from "./migrations/0018_channel_holds.ts"
import m0023 from "./migrations/0023_key_digests.ts"
import m0024 from "./migrations/0024_remembered.ts"
import m0025 from "./migrations/0025_message_details.ts"
import m0026 from "./migrations/0026_notes.ts"
import m0027 from "./migrations/0027_recent_webhooks.ts"
import m0028 from "./migrations/0028_claims.ts"
import m0029 from "./migrations/0029_writable.ts"
import m0030 from "./migrations/0030_storage_use.ts"
import m0031 from "./migrations/0031_secret_canary.ts"
import m0032 from "./migrations/0032_callback_people.ts"
import m0033 from "./migrations/0033_find_contacts.ts"
import { StatementDeadline } from "./StatementDeadline.ts"

/** Every migration, in order. They are imported, not read from a folder, so that a bundle contains them. */
export const record = {
  "0001_organizations": m0001,
  "0002_catalogues": m0002,
  "0003_contacts": m0003,
  "0004_conversations": m0004,
  "0005_work": m0005,
  "0006_media": m0006,
  "0007_webhooks": m0007,
  "0008_lane_kinds": m0008,
  "0009_commits": m0009,
  "0011_reads": m0011,
  "0012_callbacks": m0012,
  "0015_audit": m0015,
  "0016_media_slices": m0016,
  "0017_channel_accounts": m0017,
  "0018_channel_holds": m0018,
  "0023_key_digests": m0023,
  "0024_remembered": m0024,
  "0025_message_details": m0025,
  "0026_notes": m0026,
  "0027_recent_webhooks": m0027,
  "0028_claims": m0028,
  "0029_writable": m0029,
  "0030_storage_use": m0030,
  "0031_secret_canary": m0031,
  "0032_callback_people": m0032,
  "0033_find_contacts": m0033
}

const table = "messaging_crm_migrations"
const lock = 7_308_604_893
const preparing = lock + 1

type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** Work that is done before a migration, outside of its transaction, while other processes write. */
interface Preparation {
  readonly name: string
  readonly prepare: (
    patiently: <A, E>(step: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.Effect<A, E, SqlClient.SqlClient>
  ) => Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>
}

/** Returns the number of the last applied migration, or 0. */
const last = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [{ present } = { present: false }] = yield* sql<{ readonly present: boolean }>`
    SELECT to_regclass(${table}) IS NOT NULL AS present
  `
  if (!present) return 0
  const [{ last } = { last: 0 }] = yield* sql<{ readonly last: number }>`
    SELECT coalesce(max(migration_id), 0) AS last
    FROM ${sql(table)}
  `
  return last
})

/** Returns whether all given migrations are applied. The database may have newer ones. */
const has = (migrations: Migrations) =>
  Effect.map(last, (last) => Object.keys(migrations).every((name) => Number.parseInt(name) <= last))

const limits = ["statement_timeout", "transaction_timeout", "lock_timeout"]

/** The timeout of one attempt to lock a table. All other statements on the table wait behind it. */
const lock_timeout = "800ms"

/** Migrates in one transaction, whose end releases the advisory lock. A failed migration changes nothing. */
const once = Effect.fnUntraced(function*(migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const migrate = Effect.gen(function*() {
    for (const limit of limits) yield* sql`SET LOCAL ${sql(limit)} = 0`
    yield* sql`SELECT pg_advisory_xact_lock(${lock})`
    // A session learns of tables that others have created when it locks a table, and `to_regclass` locks none.
    yield* sql`SELECT FROM pg_class LIMIT 0`
    yield* sql`SET LOCAL lock_timeout = ${sql.literal(`'${lock_timeout}'`)}`
    return yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })
  })
  return yield* sql.withTransaction(migrate)
})

const isLocked = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError"
    : error instanceof Migrator.MigrationError && isLocked(error.cause)

/** Retries a step that could not get a lock, for 10 minutes. */
const patiently = <A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  step.pipe(
    Effect.tapError((error) =>
      isLocked(error)
        ? Effect.logWarning("Another session has locked a table that must be migrated, retrying")
        : Effect.void
    ),
    Effect.retry({
      while: isLocked,
      schedule: Schedule.spaced("3 seconds").pipe(Schedule.jittered, Schedule.upTo({ duration: "10 minutes" }))
    })
  )

/** Prepares some migrations and then migrates, on the connection that holds the advisory lock. */
const prepared = Effect.fnUntraced(function*(migrations: Migrations, preparations: ReadonlyArray<Preparation>) {
  const sql = yield* SqlClient.SqlClient
  for (const limit of limits) yield* sql`SET ${sql(limit)} = 0`
  // Polled, because a waiting statement is an open transaction, and CREATE INDEX CONCURRENTLY waits for those.
  yield* Effect.repeat(sql<{ readonly locked: boolean }>`SELECT pg_try_advisory_lock(${preparing}) AS locked`, {
    until: ([row]) => row?.locked === true,
    schedule: Schedule.spaced("500 millis")
  })
  yield* sql`SET lock_timeout = ${sql.literal(`'${lock_timeout}'`)}`
  const done: Array<readonly [id: number, name: string]> = []
  for (const { name, prepare } of preparations) {
    const number = Number.parseInt(name)
    const before = Object.entries(migrations).filter(([name]) => Number.parseInt(name) < number)
    done.push(...yield* patiently(once(Object.fromEntries(before))))
    if ((yield* last) < number) yield* prepare(patiently)
    // The preparation of the next one may end this setting.
    yield* sql`SET lock_timeout = ${sql.literal(`'${lock_timeout}'`)}`
  }
  return [...done, ...yield* patiently(once(migrations))]
})

/** Runs all statements of an effect on one connection, and resets its settings and advisory locks afterwards. */
const onOneConnection = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* Client.session(yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql.reserve))
    return yield* effect.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.ensuring(Effect.ignore(Effect.andThen(sql`SELECT pg_advisory_unlock_all()`, sql`RESET ALL`)))
    )
  }))

/**
 * Applies the migrations that the database lacks, and returns them. Of several
 * concurrent processes one migrates, and the others wait for it.
 *
 * A table may be locked, for example by a dump. The migration waits for it for less
 * than a second at a time, so that other statements can run in between, and retries
 * for 10 minutes. In a database with data, slow steps are done beforehand by the
 * preparations.
 */
export const migrate = Effect.fnUntraced(function*(
  migrations: Migrations,
  preparations: ReadonlyArray<Preparation> = []
) {
  // An up-to-date database is not locked.
  if (yield* has(migrations)) return []
  const known = yield* last
  const pending = preparations.filter(({ name }) => Number.parseInt(name) > known)
  return known === 0 || pending.length === 0
    ? yield* patiently(once(migrations))
    : yield* onOneConnection(prepared(migrations, pending))
}, Effect.provideService(StatementDeadline, Duration.infinity))

/** Applies every migration that the database lacks, and returns them. */
export const run = migrate(record, [{ name: "0009_commits", prepare: prepare0009 }])

/** Returns whether every migration of this version is applied. The database may have newer ones. */
export const isCurrent = has(record)

/** Layer that migrates when it is built. */
export const layer = Layer.effectDiscard(Effect.orDie(run))
