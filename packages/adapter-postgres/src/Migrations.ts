import { Effect, Layer } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import m0001 from "./migrations/0001_organizations.ts"
import m0002 from "./migrations/0002_catalogues.ts"
import m0003 from "./migrations/0003_contacts.ts"
import m0004 from "./migrations/0004_conversations.ts"
import m0005 from "./migrations/0005_work.ts"
import m0006 from "./migrations/0006_media.ts"
import m0007 from "./migrations/0007_webhooks.ts"
import m0008 from "./migrations/0008_lane_kinds.ts"

/** Every migration, in order. Imported, not read from a folder, so a bundle carries them. */
const record = {
  "0001_organizations": m0001,
  "0002_catalogues": m0002,
  "0003_contacts": m0003,
  "0004_conversations": m0004,
  "0005_work": m0005,
  "0006_media": m0006,
  "0007_webhooks": m0007,
  "0008_lane_kinds": m0008
}

const table = "messaging_crm_migrations"
const lock = 7_308_604_893

/** Brings the database's schema up to date. Of several processes at once one does, and the others wait for it. */
export const run = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const migrate = Migrator.make({})({ loader: Migrator.fromRecord(record), table })
  // One transaction around all of them: the lock is let go with the commit, and a migration that fails leaves nothing.
  return yield* sql.withTransaction(
    sql`SET LOCAL statement_timeout = 0`.pipe(
      Effect.andThen(sql`SET LOCAL transaction_timeout = 0`),
      Effect.andThen(sql`SELECT pg_advisory_xact_lock(${lock})`),
      Effect.andThen(migrate)
    )
  )
})

/** Returns whether the database has every migration that this code was written for. It may have newer ones. */
export const isCurrent = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [{ present } = { present: false }] = yield* sql<{ readonly present: boolean }>`
    SELECT to_regclass(${table}) IS NOT NULL AS present
  `
  if (!present) return false
  const [{ last } = { last: 0 }] = yield* sql<{ readonly last: number }>`
    SELECT coalesce(max(migration_id), 0) AS last
    FROM ${sql(table)}
  `
  return last >= Object.keys(record).length
})

/** Layer that migrates when it is built. */
export const layer = Layer.effectDiscard(Effect.orDie(run))
