import { Content } from "@messaging-crm/core/Content"
import { ChannelId, MemberId } from "@messaging-crm/core/Ids"
import { Send, SendStore } from "@messaging-crm/core/Sends"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, OptionalAt } from "../database/Columns.ts"
import { first } from "../database/Rows.ts"

/** The row of a send. */
export const SendRow = Schema.Struct({
  ...Send.fields,
  created_at: At,
  channel_id: ChannelId,
  recipient: Schema.String,
  member_id: Schema.NullOr(MemberId),
  content: Content,
  first_attempt_at: OptionalAt,
  may_be_sent: Schema.Boolean,
  version: Schema.Int
})

const send = first(SendRow)

/** Layer that reads sends in PostgreSQL. */
export const layer = Layer.effect(
  SendStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return SendStore.of({
      find: (organization_id, id) =>
        send(sql`
          SELECT id, conversation_id, status, message_id, failure_reason, created_at, channel_id, recipient, member_id,
            content, first_attempt_at, may_be_sent, version
          FROM sends
          WHERE organization_id = ${organization_id} AND id = ${id}
        `)
    })
  })
)
