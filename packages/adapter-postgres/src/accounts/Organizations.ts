import { Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, json, optionalDate } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"
import * as Audit from "../work/Audit.ts"

const organization = first(Schema.Struct({ ...Organization.fields, created_at: At, version: Schema.Int }))

const organizations = rows(Schema.Struct({ ...Organization.fields, created_at: At }))

/** Layer that keeps organizations in PostgreSQL. */
export const layer = Layer.effect(
  OrganizationStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return OrganizationStore.of({
      insert: ({ created_at, id, name }, owner, record) =>
        sql`
          WITH organization AS (
            INSERT INTO organizations ${sql.insert({ id, name, created_at: date(created_at) })}
          ), audited AS (
            ${sql.literal(Audit.insert)}(NULL::audit_records, ${json([{ ...record, organization_id: id }])})
          )
          INSERT INTO members ${
          sql.insert({
            ...owner,
            organization_id: id,
            created_at: date(owner.created_at),
            left_at: optionalDate(owner.left_at)
          })
        }
        `.pipe(Effect.orDie, Effect.asVoid),
      list: organizations(sql`
        SELECT id, name, created_at
        FROM organizations
        ORDER BY created_at, id
      `),
      find: (id) =>
        organization(sql`
          SELECT id, name, created_at, version
          FROM organizations
          WHERE id = ${id}
        `)
    })
  })
)
