import { OrganizationId } from "@messaging-crm/core/Ids"
import { Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date } from "./Columns.ts"

const Row = Schema.Struct({ ...Organization.fields, created_at: At })

/** Layer that keeps organizations in PostgreSQL. */
export const layer = Layer.effect(
  OrganizationStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const find = SqlSchema.findOneOption({
      Request: OrganizationId,
      Result: Row,
      execute: (id) =>
        sql`
          SELECT id, name, created_at
          FROM organizations
          WHERE id = ${id}
        `
    })

    return OrganizationStore.of({
      insert: ({ created_at, id, name }) =>
        sql`
          INSERT INTO organizations ${sql.insert({ id, name, created_at: date(created_at) })}
        `.pipe(Effect.orDie, Effect.asVoid),
      find: (id) => Effect.orDie(find(id))
    })
  })
)
