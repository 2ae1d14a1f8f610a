/** Checks and migrations of the database before a command uses it. */
import * as Clock from "@messaging-crm/adapter-postgres/Clock"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Statistics from "@messaging-crm/adapter-postgres/Statistics"
import * as Writable from "@messaging-crm/adapter-postgres/Writable"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { StartupRejected } from "./settings/Config.ts"

/**
 * Makes the check whether the database responds, has the schema of this version, and accepts writes. The check runs at
 * most once per second, because its endpoint needs no key.
 */
export const isReady = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Migrations.isCurrent.pipe(
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.flatMap((isCurrent) => isCurrent ? Effect.as(Writable.required(sql), true) : Effect.succeed(false)),
    Effect.timeout("2 seconds"),
    Effect.catchCause(() => Effect.succeed(false)),
    Effect.cachedWithTTL("1 second")
  ))

/** Returns the message of the innermost cause, which of the driver's nested errors is the actual reason. */
export const reasonOf = (error: Error): string => error.cause instanceof Error ? reasonOf(error.cause) : error.message

const cannotUse = (database: string) => (error: Error) =>
  new StartupRejected({ message: `The database ${database} cannot be used: ${reasonOf(error)}.` })

/** Where the database is, for errors. */
export const Place = Context.Reference<string>("@messaging-crm/server/Database/Place", {
  defaultValue: () => "at DATABASE_URL"
})

/** Names the cell in the errors of its database and in log lines; null for the database of `DATABASE_URL`. */
export const ofCell = (cell: string | null) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  cell === null ? effect : effect.pipe(
    Effect.annotateLogs({ cell }),
    Effect.provideService(Place, `of the cell ${cell}`)
  )

/** Fails because a database cannot be used. The error omits the URL, which contains the password. */
const unusable = (error: Error) => Effect.flatMap(Place, (place) => Effect.fail(cannotUse(place)(error)))

/** Migrates the database. Returns the names of the files that were applied. */
export const migrate = Effect.catch(Migrations.run, unusable)

/** Migrates the database that `dev` keeps in a directory. */
export const migrateIn = (directory: string) =>
  Effect.mapError(Migrations.run, (error) =>
    error._tag === "UnreleasedSchema"
      ? new StartupRejected({
        message:
          `An unreleased version created the database in ${directory}. Remove this directory to start with an empty one.`
      })
      : cannotUse(`in ${directory}`)(error))

/** Layer that migrates the database. */
export const migrated = Layer.effectDiscard(migrate)

/** Layer that fails if the database's schema is behind. */
export const current = Layer.effectDiscard(
  Effect.flatMap(Effect.catch(Migrations.isCurrent, unusable), (isCurrent) =>
    isCurrent ? Effect.void : Effect.fail(
      new StartupRejected({
        message: "The database schema is out of date. Run `messaging-crm migrate`, or start with --migrate."
      })
    ))
)

/** Layer for the database's clock, which every process uses. */
export const clock = Layer.effectContext(Effect.catch(Clock.make, unusable))

/** Layer that keeps the database's statistics up to date while tables grow fast. */
export const statistics = Statistics.layer
