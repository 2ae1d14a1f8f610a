import { Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { columnsOf, date, first, json, optionalDate, rows, run, stored } from "../database/RowCodecs.ts"
import * as Audit from "../work/Audit.ts"

const Row = stored(Organization)

const organization = first(Schema.Struct({ ...Row.fields, version: Schema.Int }))
const organizations = rows(Row)

/** Layer that keeps organizations in PostgreSQL. */
export const layer = Layer.effect(
  OrganizationStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Row))

    return OrganizationStore.of({
      insert: ({ created_at, default_country, id, name }, owner, record) =>
        run(sql`
          WITH organization AS (
            INSERT INTO organizations ${sql.insert({ id, name, default_country, created_at: date(created_at) })}
          ), audited AS (
            ${sql.literal(Audit.insert)}(NULL::audit_records, ${json([{ ...record, organization_id: id }])})
          )
          INSERT INTO members ${
          sql.insert({
            ...owner,
            organization_id: id,
            created_at: date(owner.created_at),
            left_at: optionalDate(owner.left_at),
            logged_out_at: optionalDate(owner.logged_out_at)
          })
        }
        `),
      list: organizations(sql`
        SELECT ${columns}
        FROM organizations
        ORDER BY created_at, id
      `),
      find: (id) =>
        organization(sql`
          SELECT ${columns}, version
          FROM organizations
          WHERE id = ${id}
        `)
    })
  })
)
