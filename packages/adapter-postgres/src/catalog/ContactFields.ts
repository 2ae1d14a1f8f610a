import { ContactField, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At } from "../database/Columns.ts"
import { rows } from "../database/Rows.ts"

const fields = rows(Schema.Struct({ ...ContactField.fields, created_at: At }))

/** Layer that reads contact fields in PostgreSQL. */
export const layer = Layer.effect(
  ContactFieldStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return ContactFieldStore.of({
      list: (organization_id) =>
        fields(sql`
          SELECT id, key, name, type, options, created_at
          FROM contact_fields
          WHERE organization_id = ${organization_id}
          ORDER BY created_at, id
        `)
    })
  })
)
