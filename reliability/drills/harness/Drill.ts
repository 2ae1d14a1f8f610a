/** A drill as a program, and the PostgreSQL server that it uses. */
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { Effect, type Scope } from "effect"
import { folder } from "../../../packages/server/testing/Folder.ts"

/** Runs a drill, and ends this process with code 0 if the drill passed. */
export const runDrill = async <E>(drill: Effect.Effect<boolean, E, Scope.Scope>): Promise<never> => {
  // After a signal, and also after a second one, the scope closes, so that no process and no mount of the drill remains.
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort())
  const passed = await Effect.runPromise(Effect.scoped(drill), { signal: stop.signal })
  process.exit(passed ? 0 : 1)
}

/** Runs an effect with a new PostgreSQL server for its databases. */
export const withPostgres = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const url = yield* start({ directory: yield* folder })
    return yield* Databases.onServer(url)(effect)
  })
