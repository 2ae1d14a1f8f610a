import { ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rows } from "../database/RowCodecs.ts"

const failureCounts = rows(Schema.Struct({ reason: FailureReason, count: Schema.Int }))

/** Layer that counts holds of channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelHoldStore,
  SqlClient.SqlClient.useSync((sql) =>
    ChannelHoldStore.of({
      countPaused: failureCounts(sql`
        SELECT reason, count(*)::int AS count
        FROM channel_holds
        WHERE until IS NULL
        GROUP BY reason
      `)
    })
  )
)
