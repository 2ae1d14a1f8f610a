import { Config, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Client from "../src/Client.ts"
import * as Migrations from "../src/Migrations.ts"

/**
 * Layer for a migrated, empty schema of its own in the database at
 * `TEST_DATABASE_URL`, dropped when the layer is released. Test files therefore
 * run in parallel, and nothing needs truncating.
 */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const url = yield* Config.Redacted("TEST_DATABASE_URL")
  const schema = `test_${globalThis.crypto.randomUUID().replaceAll("-", "")}`

  const admin = Layer.effectDiscard(Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.acquireRelease(
      sql`CREATE SCHEMA ${sql(schema)}`,
      () => Effect.orDie(sql`DROP SCHEMA ${sql(schema)} CASCADE`)
    )
  })).pipe(Layer.provide(Client.layer({ url, connections: 1 })))

  return Migrations.layer.pipe(
    Layer.provideMerge(Client.layer({ url, schema })),
    Layer.provide(admin)
  )
}))
