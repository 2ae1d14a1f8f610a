import { ContactField, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf } from "../database/Columns.ts"
import { rows } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const Row = Schema.Struct({ ...ContactField.fields, organization_id: OrganizationId, created_at: At })
const fields = rows(Row)

/** Layer that reads contact fields in PostgreSQL. */
export const layer = Layer.effect(
  ContactFieldStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Row))

    // Every write of custom values reads the same rows.
    const list = StatementBatcher.make(
      sql,
      Effect.fnUntraced(function*(organization_ids: ReadonlyArray<OrganizationId>) {
        const found = yield* fields(sql`
          SELECT ${columns}
          FROM contact_fields
          WHERE organization_id = ANY(${Array.from(new Set(organization_ids))}::uuid[])
          ORDER BY created_at, id
        `)
        const fieldsOf = new Map(
          Array.from(Map.groupBy(found, ({ organization_id }) => organization_id), ([id, all]) => [
            id,
            all.map(({ organization_id: _, ...field }): ContactField => field)
          ])
        )
        return organization_ids.map((id) => fieldsOf.get(id) ?? [])
      })
    )

    return ContactFieldStore.of({ list })
  })
)
