/** What the commands ask of a database before they use it. */
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

/** Layer that migrates the database. */
export const migrated = Migrations.layer

/** Layer that refuses a database whose schema is behind. */
export const current = Layer.effectDiscard(
  Effect.flatMap(Migrations.isCurrent, (isCurrent) =>
    isCurrent ? Effect.void : Effect.fail(
      new WrongSetting({
        message: "The database at DATABASE_URL is behind: run `messaging-crm migrate`, or start with --migrate."
      })
    ))
)
