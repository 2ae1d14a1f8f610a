import { ChannelHold } from "@messaging-crm/core/ChannelHolds"
import { Channel } from "@messaging-crm/core/Channels"
import { Content } from "@messaging-crm/core/Content"
import { ChannelId, ContactId, IdentityId, MemberId } from "@messaging-crm/core/Ids"
import { Send, SendStore } from "@messaging-crm/core/Sends"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, OptionalAt, startOf } from "../database/Columns.ts"
import { first, rows, selection } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

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

const columns = Object.keys(SendRow.fields)

const list = selection(Schema.Struct({ ...Send.fields, created_at: At }), (column) => `s.${column}`)

const outgoing = rows(Schema.Struct({
  ...SendRow.fields,
  channel: Channel,
  hold: Schema.NullOr(Schema.Struct({ ...ChannelHold.fields, version: Schema.Int })),
  contact_id: ContactId,
  identity_id: IdentityId,
  member_name: Schema.NullOr(Schema.String)
}))

/**
 * Returns the condition of the partial index that contains the sends in a status. The status implies the condition. No
 * index has the status itself, because it changes twice.
 */
const groupOf = (status: Send["status"]): string => {
  switch (status) {
    case "sent":
      return "true"
    case "failed":
      return "s.failure_reason IS NOT NULL"
    default:
      return "s.message_id IS NULL AND s.failure_reason IS NULL"
  }
}

/** Layer that reads sends in PostgreSQL. */
export const layer = Layer.effect(
  SendStore,
  SqlClient.SqlClient.useSync((sql) => {
    const load = StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", id: "uuid" },
      select: `
        SELECT ${columns.map((column) => `s.${column}`).join(", ")}, to_jsonb(h) AS channel, to_jsonb(o) AS hold,
          v.contact_id, v.identity_id, m.name AS member_name
        FROM sends s
        JOIN conversations v ON v.organization_id = s.organization_id AND v.id = s.conversation_id
        JOIN channels h ON h.organization_id = s.organization_id AND h.id = s.channel_id
        LEFT JOIN channel_holds o ON o.organization_id = s.organization_id AND o.channel_id = s.channel_id
        LEFT JOIN members m ON m.organization_id = s.organization_id AND m.id = s.member_id
        WHERE s.organization_id = k.organization_id AND s.id = k.id`,
      decode: outgoing
    })

    return SendStore.of({
      find: (organization_id, id) =>
        send(sql`
          SELECT ${sql.literal(columns.join(", "))}
          FROM sends
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      list: (organization_id, { conversation_id, created_since, status }, page) => {
        const { at, id } = startOf(page)
        const conditions = sql.and([
          sql`s.organization_id = ${organization_id}`,
          ...(status === null ? [] : [sql`s.status = ${status}`, sql.literal(groupOf(status))]),
          ...(conversation_id === null ? [] : [sql`s.conversation_id = ${conversation_id}`]),
          ...(created_since === null ? [] : [sql`s.created_at >= ${date(created_since)}`]),
          sql`(s.created_at, s.id) < (${at}::timestamptz, ${id}::uuid)`
        ])
        return Effect.orDie(list.rows(sql`
          SELECT ${sql.literal(list.columns)}
          FROM sends s
          WHERE ${conditions}
          ORDER BY s.created_at DESC, s.id DESC
          LIMIT ${page.size}
        `))
      },
      load: (organization_id, id) =>
        Effect.map(
          load({ organization_id, id }),
          Option.map(({ channel, contact_id, hold, identity_id, member_name, ...send }) => ({
            send,
            channel,
            hold,
            contact_id,
            identity_id,
            member_name
          }))
        )
    })
  })
)
