import { Clock, Context, Effect, Layer, Redacted } from "effect"
import * as Client from "../src/database/Client.ts"
import * as Databases from "./Databases.ts"

/** A test owns the time of what it tests, not that of the driver's pool. */
const client = (options: Client.Options) =>
  Client.layer(options).pipe(Layer.provide(Layer.sync(Clock.Clock)(Clock.Clock.defaultValue)))

/**
 * An empty database of its own, dropped when the layer is released. Test files therefore run in parallel, and nothing needs
 * truncating. Its release dies if there was a deadlock.
 *
 * `url` is all that another client, or another process, needs to join in.
 */
export class Database extends Context.Service<Database, {
  readonly url: Redacted.Redacted
}>()("@messaging-crm/adapter-postgres/testing/Database") {
  static readonly layer = Layer.effect(Database, Effect.map(Databases.empty, (url) => ({ url: Redacted.make(url) })))
  static readonly layerMigrated = Layer.effect(
    Database,
    Effect.map(Databases.migrated, (url) => ({ url: Redacted.make(url) }))
  )
}

/** Layer for another client of the database, with connections of its own, as another process has. */
export const layerClient = Layer.unwrap(Effect.map(Database, ({ url }) => client({ url })))

/** Layer for a migrated database of its own and a client of it. */
export const layer = Layer.provideMerge(layerClient, Database.layerMigrated)
