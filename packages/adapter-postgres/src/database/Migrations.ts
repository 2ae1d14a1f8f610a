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
import m0010 from "./migrations/0010_claims.ts"
import m0011 from "./migrations/0011_reads.ts"
import m0012 from "./migrations/0012_callbacks.ts"
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
  "0010_claims": m0010,
  "0011_reads": m0011,
  "0012_callbacks": m0012
}

const table = "messaging_crm_migrations"
const lock = 7_308_604_893
const preparing = lock + 1

type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** What is done before a migration outside of its transaction, while others write. */
interface Preparation {
  readonly name: string
  readonly prepare: (
    patiently: <A, E>(step: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.Effect<A, E, SqlClient.SqlClient>
  ) => Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>
}

/** Returns the last migration that the database has, 0 where it has none. */
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

/** Returns whether the database has the last of some migrations. It may have newer ones. */
const has = (migrations: Migrations) =>
  Effect.map(last, (last) => Object.keys(migrations).every((name) => Number.parseInt(name) <= last))

const limits = ["statement_timeout", "transaction_timeout", "lock_timeout"]

/** How long to wait for a table lock at a time. Every other statement on the table waits behind this. */
const lock_timeout = "800ms"

/** Migrates in one transaction, with which the advisory lock is released. A failed migration leaves no trace. */
const once = Effect.fnUntraced(function*(migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const migrate = Effect.gen(function*() {
    for (const limit of limits) yield* sql`SET LOCAL ${sql(limit)} = 0`
    yield* sql`SELECT pg_advisory_xact_lock(${lock})`
    yield* sql`SET LOCAL lock_timeout = ${sql.literal(`'${lock_timeout}'`)}`
    return yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })
  })
  return yield* sql.withTransaction(migrate)
})

const isLocked = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError"
    : error instanceof Migrator.MigrationError && isLocked(error.cause)

/** Repeats a step that could not get a lock, for 10 minutes. */
const patiently = <A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  step.pipe(
    Effect.tapError((error) =>
      isLocked(error)
        ? Effect.logWarning("Another session has locked a table that must be migrated, waiting for it")
        : Effect.void
    ),
    Effect.retry({
      while: isLocked,
      schedule: Schedule.spaced("3 seconds").pipe(Schedule.jittered, Schedule.upTo({ duration: "10 minutes" }))
    })
  )

/** Prepares a migration and migrates, on the connection that has the lock. */
const prepared = Effect.fnUntraced(function*(migrations: Migrations, { name, prepare }: Preparation) {
  const sql = yield* SqlClient.SqlClient
  for (const limit of limits) yield* sql`SET ${sql(limit)} = 0`
  // Asked for again and again: who waited in a statement would be waited for by indexes that are made beside the writes.
  yield* Effect.repeat(sql<{ readonly locked: boolean }>`SELECT pg_try_advisory_lock(${preparing}) AS locked`, {
    until: ([row]) => row?.locked === true,
    schedule: Schedule.spaced("500 millis")
  })
  yield* sql`SET lock_timeout = ${sql.literal(`'${lock_timeout}'`)}`
  const number = Number.parseInt(name)
  const before = Object.entries(migrations).filter(([name]) => Number.parseInt(name) < number)
  const done = yield* patiently(once(Object.fromEntries(before)))
  if ((yield* last) < number) yield* prepare(patiently)
  return [...done, ...yield* patiently(once(migrations))]
})

/** Runs an effect whose statements all go over one connection, which has no settings and no locks of it afterwards. */
const onOneConnection = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* Client.session(yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql.reserve))
    return yield* effect.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.ensuring(Effect.ignore(Effect.andThen(sql`SELECT pg_advisory_unlock_all()`, sql`RESET ALL`)))
    )
  }))

/**
 * Brings the database's schema up to some migrations. Of several processes at
 * once one does, and the others wait for it.
 *
 * A table that somebody holds, as a dump does, is waited for by less than a
 * second at a time, for 10 minutes: in between everybody else gets it. What
 * takes long is prepared beforehand, where there are rows already.
 */
export const migrate = Effect.fnUntraced(function*(migrations: Migrations, preparation?: Preparation) {
  // A database that is up to date is not locked at all.
  if (yield* has(migrations)) return []
  const known = yield* last
  return preparation === undefined || known === 0 || known >= Number.parseInt(preparation.name)
    ? yield* patiently(once(migrations))
    : yield* onOneConnection(prepared(migrations, preparation))
}, Effect.provideService(StatementDeadline, Duration.infinity))

/** Brings the database's schema up to date, and returns the migrations that it lacked. */
export const run = migrate(record, { name: "0009_commits", prepare: prepare0009 })

/** Returns whether the database has every migration of this version. It may have newer ones. */
export const isCurrent = has(record)

/** Layer that migrates when it is built. */
export const layer = Layer.effectDiscard(Effect.orDie(run))
