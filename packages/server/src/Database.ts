/** What the commands ask of a database before they use it. */
import * as Clock from "@messaging-crm/adapter-postgres/Clock"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WrongSetting } from "./Config.ts"

/** Returns whether the database answers and has the schema that this version was written for. */
export const isReady = Effect.map(SqlClient.SqlClient, (sql) =>
  Migrations.isCurrent.pipe(
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.timeout("2 seconds"),
    Effect.catchCause(() => Effect.succeed(false))
  ))

/** The driver's errors say what they were doing, and only their innermost cause what went wrong. */
const reasonOf = (error: Error): string => error.cause instanceof Error ? reasonOf(error.cause) : error.message

/** Says of a database that cannot be used why, without its URL, which holds the password. */
const unusable = (error: Error) =>
  new WrongSetting({ message: `The database at DATABASE_URL cannot be used: ${reasonOf(error)}.` })

/** Migrates the database, and returns the migrations that it lacked. */
export const migrate = Effect.mapError(Migrations.run, unusable)

/** Layer that migrates the database. */
export const migrated = Layer.effectDiscard(migrate)

/** Layer that refuses a database whose schema is behind. */
export const current = Layer.effectDiscard(
  Effect.flatMap(Effect.mapError(Migrations.isCurrent, unusable), (isCurrent) =>
    isCurrent ? Effect.void : Effect.fail(
      new WrongSetting({
        message: "The database at DATABASE_URL is behind: run `messaging-crm migrate`, or start with --migrate."
      })
    ))
)

/** Layer for the database's clock, by which every process on it goes. */
export const clock = Layer.effectContext(Effect.mapError(Clock.make, unusable))
