/** Two databases, of which the first has the organizations. */
import { layer } from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import type * as Steps from "@messaging-crm/adapter-postgres/MoveSteps"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { MessageAgeMax } from "@messaging-crm/core/MessageRetention"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { Clock, Context, Duration, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layer as operationsOver } from "../../conformance/src/Races/RaceScene.ts"
import * as MovedTables from "../src/moves/MovedTables.ts"
import * as Database from "../testing/Database.ts"
import * as Databases from "../testing/Databases.ts"

const storage = layer.pipe(Layer.provideMerge(Database.layer))

/** Layer for the old database and the operations on it. */
export const source = StorageUse.layer.pipe(
  Layer.provideMerge(operationsOver(storage)),
  Layer.provideMerge(storage),
  Layer.provide(Layer.succeed(MessageAgeMax, Duration.days(400)))
)

/** Makes the new database and the transfer to it. `inTarget` runs an effect on the storage there. */
export const transferOf = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const url = yield* Databases.migrated
  const client = Client.layer({ url: Redacted.make(url) }).pipe(
    Layer.provide(Layer.sync(Clock.Clock)(Clock.Clock.defaultValue))
  )
  const context = yield* Layer.build(Layer.fresh(layer.pipe(Layer.provideMerge(client))))
  const transfer: Steps.Transfer = {
    run: { organization_id, run: globalThis.crypto.randomUUID() },
    source: yield* SqlClient.SqlClient,
    target: Context.get(context, SqlClient.SqlClient)
  }
  return { inTarget: Effect.provide(context), transfer }
})

/** The columns that differ between databases: numbers of transactions, and when claims look at a lane. */
const local = new Set(["closed", "committed_in", "earlier_commits", "emptied_at", "next_due"])

/** Returns the rows of an organization by table, sorted, without the columns that differ between databases. */
export const rowsOf = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const { columns, name, owner } of yield* MovedTables.read) {
    const compared = columns.filter((column) => !local.has(column)).map((column) => `"${column}"`).join(", ")
    const rows = yield* sql.unsafe<{ readonly json: string }>(
      `SELECT row_to_json(row)::text AS json
      FROM (SELECT ${compared} FROM ${name} WHERE "${owner}" = $1::uuid) row
      ORDER BY 1`,
      [organization_id]
    )
    if (rows.length > 0) found[name] = rows.map(({ json }) => json)
  }
  return found
})

/** Returns the names of the triggers that a move of an organization has created. Other tests move others in the same database. */
export const triggersOf = (organization_id: OrganizationId) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      SELECT tgname
      FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE relnamespace = current_schema()::regnamespace
        AND NOT tgisinternal
        AND pg_get_triggerdef(pg_trigger.oid) LIKE ${`%guard_organization('${organization_id}')`}
    `
  )
