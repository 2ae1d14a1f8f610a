import { Tag, TagStore } from "@messaging-crm/core/Tags"
import { Layer } from "effect"
import { SqlClient } from "effect/sql"
import { columnsOf } from "../database/Columns.ts"
import { rows } from "../database/Rows.ts"

const tags = rows(Tag)

/** Layer that reads tags in PostgreSQL. */
export const layer = Layer.effect(
  TagStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Tag))

    return TagStore.of({
      findMany: (organization_id, ids) =>
        tags(sql`
          SELECT ${columns}
          FROM tags
          WHERE organization_id = ${organization_id} AND id = ANY(${ids}::uuid[])
          ORDER BY name_key
        `),
      list: (organization_id) =>
        tags(sql`
          SELECT ${columns}
          FROM tags
          WHERE organization_id = ${organization_id}
          ORDER BY name_key
        `)
    })
  })
)
