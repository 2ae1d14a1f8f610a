import { ChannelHold, ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const Columns = Schema.Struct({ ...ChannelHold.fields, held_at: At, until: OptionalAt })

const holds = rows(Columns)
const hold = first(Schema.Struct({ ...Columns.fields, version: Schema.Int }))
const failureCounts = rows(Schema.Struct({ reason: FailureReason, count: Schema.Int }))

/** Layer that reads holds of channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelHoldStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Columns))

    return ChannelHoldStore.of({
      find: (organization_id, channel_id) =>
        hold(sql`
          SELECT ${columns}, version
          FROM channel_holds
          WHERE organization_id = ${organization_id} AND channel_id = ${channel_id}
        `),
      list: (organization_id) =>
        holds(sql`
          SELECT ${columns}
          FROM channel_holds
          WHERE organization_id = ${organization_id}
          ORDER BY held_at, channel_id
        `),
      countPaused: failureCounts(sql`
        SELECT reason, count(*)::int AS count
        FROM channel_holds
        WHERE until IS NULL
        GROUP BY reason
      `)
    })
  })
)
