/** Three cells on two PostgreSQL servers, of which one can be stopped and started again. */
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import * as Schemas from "@messaging-crm/adapter-postgres/testing/Schemas"
import { Effect, Exit, Scope } from "effect"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { folder } from "../Folder.ts"

/** The names of the cells. The last one is alone on its server. */
export const names = ["eu-1", "eu-2", "us-1"] as const

export const make = Effect.gen(function*() {
  const outer = yield* Scope.Scope
  const directory = yield* folder
  let scope = yield* Scope.fork(outer)
  const launch = Effect.suspend(() => Effect.provideService(start({ directory, durable: false }), Scope.Scope, scope))
  const second = yield* launch
  const first = yield* Databases.empty
  const urls = [...yield* Schemas.create(first, ["one", "two"]), ...yield* Schemas.create(second, ["three"])]
  return {
    setting: names.map((name, index) => `${name}=${urls[index]}`).join("\n"),
    /** Stops the server of the last cell, as a crash does. */
    stop: Effect.suspend(() => Scope.close(scope, Exit.void)),
    /** Starts it again on the same port. */
    start: Effect.gen(function*() {
      scope = yield* Scope.fork(outer)
      yield* launch
    })
  }
})
