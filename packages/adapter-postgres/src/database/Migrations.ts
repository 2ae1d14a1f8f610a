import { Data, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as RestoredEvents from "./RestoredEvents.ts"
import * as Files from "./schema/Files.ts"
import { StatementDeadline } from "./StatementDeadline.ts"

/** The files that make up a schema: its tables in order, and its functions. */
export interface Schema {
  /** The version of the package. */
  readonly version: string
  readonly tables: ReadonlyArray<Files.SchemaFile>
  readonly functions: ReadonlyArray<Files.SchemaFile>
}

/** An unreleased version created the database's schema, and no migration leads from it to this one. */
export class UnreleasedSchema extends Data.TaggedError("UnreleasedSchema")<{}> {
  override readonly message = "an unreleased version created its schema. Use an empty database"
}

/** A newer version migrated the database's schema, and this version does not work with it. */
export class NewerSchema extends Data.TaggedError("NewerSchema")<{ readonly oldest: string }> {
  override readonly message = `a newer version changed its schema. Use version ${this.oldest} or later`
}

export type WrongSchema = NewerSchema | UnreleasedSchema

/** A file as it was applied last. */
interface Applied {
  readonly name: string
  readonly hash: string
  /** The version that applied it. */
  readonly version: string
}

/** Compares versions by their numbers. */
const compare = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true })

/** Returns the oldest version that works with a file of tables: the end of its name, else the version that applied it. */
const oldestOf = ({ name, version }: Applied): string => /@(\d+\.\d+\.\d+)\.sql$/.exec(name)?.[1] ?? version

/**
 * Returns the files that must still be applied to the database.
 *
 * A newer version may have applied further files of tables. Fails if one of them does not work with this version.
 *
 * A file of tables is applied once. A file of a function is applied when its text has changed, unless a newer version
 * has applied it: during an upgrade, processes of both versions start.
 */
const pending = Effect.fnUntraced(function*({ functions, tables, version }: Schema) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly is_empty: boolean; readonly is_unreleased: boolean }>`
    SELECT
      to_regclass('messaging_crm_schema') IS NULL AS is_empty,
      to_regclass('messaging_crm_migrations') IS NOT NULL AS is_unreleased
  `
  if (found?.is_unreleased === true) return yield* new UnreleasedSchema()
  if (found?.is_empty === true) return [...tables, ...functions]
  const rows = yield* sql<Applied>`SELECT name, hash, version FROM messaging_crm_schema`
  const applied = new Map(rows.map((row) => [row.name, row]))
  const hasChanged = ({ hash, name }: Files.SchemaFile) => applied.has(name) && applied.get(name)?.hash !== hash
  const isNewer = ({ name }: Files.SchemaFile) => compare(applied.get(name)?.version ?? "", version) > 0
  if (tables.some(hasChanged)) return yield* new UnreleasedSchema()
  const known = new Set(tables.map(({ name }) => name))
  const further = rows.filter(({ name }) => name.startsWith("tables/") && !known.has(name))
  const oldest = further.map(oldestOf).toSorted(compare).at(-1)
  if (oldest !== undefined && compare(oldest, version) > 0) return yield* new NewerSchema({ oldest })
  return [
    ...tables.filter(({ name }) => !applied.has(name)),
    ...functions.filter((file) => !applied.has(file.name) || (hasChanged(file) && !isNewer(file)))
  ]
})

/** Runs an effect in one transaction without time limits, at most one at a time in all processes that use the same schema. */
const runAlone = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(Effect.gen(function*() {
    for (const limit of ["statement_timeout", "transaction_timeout", "lock_timeout"]) {
      yield* sql`SET LOCAL ${sql(limit)} = 0`
    }
    // Advisory locks belong to the database, which can have several schemas with the tables of the service.
    yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 7308604893))`
    return yield* effect
  }))
})

/** Migrates in one transaction, whose end releases the advisory lock. A failed migration changes nothing. */
const applyPending = Effect.fnUntraced(function*(schema: Schema) {
  const sql = yield* SqlClient.SqlClient
  return yield* runAlone(Effect.gen(function*() {
    // A session sees tables that others have created once it locks a table, and `to_regclass` locks none.
    yield* sql`SELECT FROM pg_class LIMIT 0`
    // All other statements on a table wait behind the one that waits to lock it.
    yield* sql`SET LOCAL lock_timeout = '800ms'`
    yield* sql`
      CREATE TABLE IF NOT EXISTS messaging_crm_schema (
        name text COLLATE "C" PRIMARY KEY,
        hash text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        applied_at timestamptz NOT NULL
      )
    `
    const files = yield* pending(schema)
    for (const { hash, name, text } of files) {
      // The driver sends one statement at a time, and this one runs all of a file.
      yield* sql.unsafe(`DO $do$ BEGIN EXECUTE $file$${text}$file$; END $do$`).unprepared
      yield* sql`
        INSERT INTO messaging_crm_schema (name, hash, version, applied_at)
        VALUES (${name}, ${hash}, ${schema.version}, now())
        ON CONFLICT (name)
        DO UPDATE SET hash = excluded.hash, version = excluded.version, applied_at = excluded.applied_at
      `
    }
    return files.map(({ name }) => name)
  }))
})

const isLocked = (error: SqlError.SqlError | WrongSchema): boolean =>
  SqlError.isSqlError(error) && (error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError")

/**
 * Applies the files of a schema that the database lacks, and returns their names. Of
 * several concurrent processes one migrates, and the others wait for it.
 *
 * A table may be locked, for example by a dump. The migration waits for it for less
 * than a second at a time, so that other statements can run in between, and retries
 * for 10 minutes.
 */
export const migrate = Effect.fnUntraced(function*(schema: Schema) {
  // An up-to-date database is not locked.
  if ((yield* pending(schema)).length === 0) return []
  return yield* applyPending(schema).pipe(
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
}, Effect.provideService(StatementDeadline, Duration.infinity))

const renumberRestored = Effect.gen(function*() {
  if (!(yield* RestoredEvents.exist)) return
  yield* runAlone(Effect.when(RestoredEvents.renumber, RestoredEvents.exist))
}).pipe(Effect.provideService(StatementDeadline, Duration.infinity))

/** Applies everything that the database lacks, and returns the names of the files. Renumbers the events of a restored dump. */
export const run = Effect.tap(migrate(Files), renumberRestored)

/**
 * Returns whether the database has the schema of this version, or a newer one that this version works with, and no events of
 * a restored dump that must be renumbered.
 */
export const isCurrent = Effect.gen(function*() {
  const files = yield* pending(Files)
  return files.length === 0 && !(yield* RestoredEvents.exist)
})

/** Layer that migrates when it is built. */
export const layer = Layer.effectDiscard(Effect.orDie(run))
