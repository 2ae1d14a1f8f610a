/** The operations on the configured database, without a provider: what the admin commands run. */
import { Effect, Layer } from "effect"
import * as BuiltInProviders from "../BuiltInProviders.ts"
import * as Database from "../Database.ts"
import * as Layers from "../Layers.ts"
import { readRequired, settings } from "../settings/Config.ts"

/** Layer for the operations, and for the database's clock. Fails if the schema is out of date. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const database = Layers.database(yield* readRequired(settings.database_url))
  const storage = Layers.postgres.pipe(Layer.provide(database))
  return Layers.crm(storage, BuiltInProviders.absent).pipe(
    Layer.provideMerge(Layer.merge(Database.current, Database.clock).pipe(Layer.provide(database))),
    Layer.provide(Layers.tuning)
  )
}))
