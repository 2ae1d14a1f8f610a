import { ContactField, ContactFieldKeyTaken, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, json } from "./Columns.ts"

const Row = Schema.Struct({ ...ContactField.fields, created_at: At })

/** Layer that keeps contact fields in PostgreSQL. */
export const layer = Layer.effect(
  ContactFieldStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const list = SqlSchema.findAll({
      Request: OrganizationId,
      Result: Row,
      execute: (organization_id) =>
        sql`
          SELECT id, key, name, type, options, created_at
          FROM contact_fields
          WHERE organization_id = ${organization_id}
          ORDER BY created_at, id
        `
    })

    return ContactFieldStore.of({
      insert: (organization_id, field) =>
        sql`
          INSERT INTO contact_fields ${
          sql.insert({
            ...field,
            organization_id,
            options: field.options === null ? null : json(field.options),
            created_at: date(field.created_at)
          })
        }
          ON CONFLICT ON CONSTRAINT contact_fields_key_unique DO NOTHING
          RETURNING id
        `.pipe(
          Effect.orDie,
          Effect.flatMap((inserted) =>
            inserted.length === 1 ? Effect.void : new ContactFieldKeyTaken({ key: field.key })
          )
        ),
      list: (organization_id) => Effect.orDie(list(organization_id))
    })
  })
)
