import { Member, MemberStore } from "@messaging-crm/core/Members"
import { Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const Row = Schema.Struct({ ...Member.fields, created_at: At })

const members = rows(Row)
const member = first(Schema.Struct({ ...Row.fields, left_at: OptionalAt, version: Schema.Int }))

/** Layer that reads members in PostgreSQL. */
export const layer = Layer.effect(
  MemberStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Row))

    return MemberStore.of({
      find: (organization_id, id) =>
        member(sql`
          SELECT ${columns}, left_at, version
          FROM members
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      list: (organization_id) =>
        members(sql`
          SELECT ${columns}
          FROM members
          WHERE organization_id = ${organization_id} AND left_at IS NULL
          ORDER BY created_at, id
        `)
    })
  })
)
