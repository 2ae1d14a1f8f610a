import { ChannelHold } from "@messaging-crm/core/ChannelHolds"
import { Channel } from "@messaging-crm/core/Channels"
import { ContactId, IdentityId, type OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Send, SendColumns, type SendFilters, SendStore } from "@messaging-crm/core/Sends"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { date, first, rows, selection, startOf, stored } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

/** The row of a send. */
export const SendRow = Schema.Struct({ ...stored(SendColumns).fields, version: Schema.Int })

const send = first(SendRow)

const columns = Object.keys(SendRow.fields)

const list = selection(stored(Send), (column) => `send.${column}`)

const outgoingSends = rows(Schema.Struct({
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
const indexConditionOf = (status: Send["status"]): string => {
  switch (status) {
    case "sent":
      return "true"
    case "failed":
      return "send.failure_reason IS NOT NULL"
    default:
      return "send.message_id IS NULL AND send.failure_reason IS NULL"
  }
}

/** Returns the condition that `send` passes the filters, and comes after the start of the page. */
const isOnPage = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  { conversation_id, created_since, status }: SendFilters,
  page: PageRequest
): Statement.Fragment => {
  const { at, id } = startOf(page)
  return sql.and([
    sql`send.organization_id = ${organization_id}`,
    ...(status === null ? [] : [sql`send.status = ${status}`, sql.literal(indexConditionOf(status))]),
    ...(conversation_id === null ? [] : [sql`send.conversation_id = ${conversation_id}`]),
    ...(created_since === null ? [] : [sql`send.created_at >= ${date(created_since)}`]),
    sql`(send.created_at, send.id) < (${at}::timestamptz, ${id}::uuid)`
  ])
}

/** Makes the function that loads a send with what its attempt requires. */
const makeLoad = (sql: SqlClient.SqlClient) =>
  StatementBatcher.makeByKey(sql, {
    key: { organization_id: "uuid", id: "uuid" },
    select: `
      SELECT ${
      columns.map((column) => `send.${column}`).join(", ")
    }, to_jsonb(channel) AS channel, to_jsonb(hold) AS hold,
        conversation.contact_id, conversation.identity_id, member.name AS member_name
      FROM sends send
      JOIN conversations conversation ON conversation.organization_id = send.organization_id
        AND conversation.id = send.conversation_id
      JOIN channels channel ON channel.organization_id = send.organization_id AND channel.id = send.channel_id
      LEFT JOIN channel_holds hold ON hold.organization_id = send.organization_id AND hold.channel_id = send.channel_id
      LEFT JOIN members member ON member.organization_id = send.organization_id AND member.id = send.member_id
      WHERE send.organization_id = key.organization_id AND send.id = key.id`,
    decode: outgoingSends
  })

/** Layer that reads sends in PostgreSQL. */
export const layer = Layer.effect(
  SendStore,
  SqlClient.SqlClient.useSync((sql) => {
    const load = makeLoad(sql)

    return SendStore.of({
      find: (organization_id, id) =>
        send(sql`
          SELECT ${sql.literal(columns.join(", "))}
          FROM sends
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      list: (organization_id, filters, page) =>
        Effect.orDie(list.rows(sql`
          SELECT ${sql.literal(list.columns)}
          FROM sends send
          WHERE ${isOnPage(sql, organization_id, filters, page)}
          ORDER BY send.created_at DESC, send.id DESC
          LIMIT ${page.size}
        `)),
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
