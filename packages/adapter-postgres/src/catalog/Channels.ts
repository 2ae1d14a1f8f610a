import { Channel, ChannelStore } from "@messaging-crm/core/Channels"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const Row = Schema.Struct({ ...Channel.fields, connected_at: At })

const channels = rows(Row)
const channel = first(Row)
const ownedChannel = first(Schema.Struct({ ...Row.fields, organization_id: OrganizationId }))

/** Layer that reads channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Row))

    return ChannelStore.of({
      list: (organization_id) =>
        channels(sql`
          SELECT ${columns}
          FROM channels
          WHERE organization_id = ${organization_id}
          ORDER BY connected_at, id
        `),
      find: (organization_id, id) =>
        channel(sql`
          SELECT ${columns}
          FROM channels
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      locate: (id) =>
        Effect.map(
          ownedChannel(sql`
            SELECT ${columns}, organization_id
            FROM channels
            WHERE id = ${id}
          `),
          Option.map(({ organization_id, ...channel }) => ({ organization_id, channel }))
        )
    })
  })
)
