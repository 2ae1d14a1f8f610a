import { ChannelType } from "@messaging-crm/core/Channels"
import { type ConversationFilters, ConversationStatus, ConversationStore } from "@messaging-crm/core/Conversations"
import { concurrently } from "@messaging-crm/core/Decide"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { ChannelId, ContactId, ConversationId, IdentityId, MemberId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Timestamp } from "@messaging-crm/core/Timestamps"
import { Array, Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Known, knownColumns } from "../contacts/Contacts.ts"
import { At, OptionalAt, startOf } from "../database/Columns.ts"
import { rows, selection } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const OptionalText = Schema.NullOr(Schema.String)

const Row = Schema.Struct({
  id: ConversationId,
  channel_id: ChannelId,
  channel_type: ChannelType,
  contact_id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  identity_id: IdentityId,
  external_id: Schema.String,
  display_name: OptionalText,
  username: OptionalText,
  status: ConversationStatus,
  close_category: OptionalText,
  assigned_user_id: Schema.NullOr(MemberId),
  agent_id: OptionalText,
  created_at: At,
  opened_at: At,
  closed_at: OptionalAt,
  last_activity_at: At,
  last_activity_preview: OptionalText,
  last_inbound_at: OptionalAt,
  version: Schema.Int
})

/** Decodes conversations with the columns of `selectConversations`. */
export const conversations = rows(Row)

const threads = rows(Schema.Struct({
  ...Known.fields,
  conversation: Schema.NullOr(Schema.Struct({
    ...Row.fields,
    created_at: Timestamp,
    opened_at: Timestamp,
    closed_at: Schema.NullOr(Timestamp),
    last_activity_at: Timestamp,
    last_inbound_at: Schema.NullOr(Timestamp)
  }))
}))

/** The columns that do not belong to the conversation itself. */
const sources: Readonly<Record<string, string>> = {
  channel_type: "h.type",
  first_name: "c.first_name",
  last_name: "c.last_name",
  external_id: "i.external_id",
  display_name: "i.display_name",
  username: "i.username"
}

/** The same columns for a thread that is looked up by the type of its channel. */
const joinedPairs = Object.entries({ ...sources, channel_type: "k.channel_type" })
  .map(([column, source]) => `'${column}', ${source}`).join(", ")

const list = selection(Row, (column) => sources[column] ?? `v.${column}`)

/** The joins with which a conversation `v` is read. */
const joins = `
  JOIN channels h ON h.organization_id = v.organization_id AND h.id = v.channel_id
  JOIN contacts c ON c.organization_id = v.organization_id AND c.id = v.contact_id
  JOIN identities i ON i.organization_id = v.organization_id AND i.id = v.identity_id
`

/** The text that selects conversations `v`, up to their conditions. */
export const selectConversations = `SELECT ${list.columns} FROM conversations v ${joins}`

/** Selects a column, or all, of a contact's conversations, by the unique key of channel and identity. */
export const threadsOf = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  contact_id: ContactId,
  column: "*" | "id" = "id"
) =>
  sql`
    SELECT v.${sql.literal(column)}
    FROM identities i
    JOIN channels h ON h.organization_id = i.organization_id
    JOIN conversations v ON v.organization_id = i.organization_id AND v.channel_id = h.id AND v.identity_id = i.id
    WHERE i.organization_id = ${organization_id} AND i.contact_id = ${contact_id}
  `

/** Returns the statuses that are read one by one, because each has its place in the index; null for a list with an index of its own. */
const statusesOf = ({ assigned_user_id, channel_id, contact_id, status, unassigned }: ConversationFilters) => {
  if (status !== null || contact_id !== null) return [status]
  return assigned_user_id === null && unassigned === null && channel_id === null ? [null] : ConversationStatus.literals
}

/** Layer that reads conversations in PostgreSQL. */
export const layer = Layer.effect(
  ConversationStore,
  SqlClient.SqlClient.useSync((sql) => {
    const find = StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", id: "uuid" },
      select: `${selectConversations} WHERE v.organization_id = k.organization_id AND v.id = k.id`,
      decode: conversations
    })

    const findThread = StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", channel_id: "uuid", channel_type: "text", network_id: "text" },
      select: `
        SELECT ${knownColumns},
          CASE WHEN v.id IS NOT NULL THEN to_jsonb(v) || jsonb_build_object(${joinedPairs}) END AS conversation
        FROM identity_names n
        JOIN identities i ON i.organization_id = n.organization_id AND i.id = n.identity_id
        JOIN contacts c ON c.organization_id = i.organization_id AND c.id = i.contact_id
        LEFT JOIN conversations v ON v.organization_id = i.organization_id
          AND v.channel_id = k.channel_id AND v.identity_id = i.id
        WHERE n.organization_id = k.organization_id AND n.channel_type = k.channel_type AND n.name = k.network_id`,
      decode: threads
    })

    /**
     * Selects the first conversations of a page, in the list's order.
     *
     * Those of a contact are few, and are read before they are sorted. Those of a member, or of none, are read channel by
     * channel, because their index has the channel. The order includes all columns of that index, so that the planner can
     * use no other.
     */
    const pageOf = (
      organization_id: OrganizationId,
      { assigned_user_id, channel_id, contact_id, status, unassigned }: ConversationFilters,
      page: PageRequest
    ) => {
      const { at, id } = startOf(page)
      const selectFrom = (source: Statement.Fragment, order: string, ...more: ReadonlyArray<Statement.Fragment>) =>
        sql`
          SELECT v.*
          FROM ${source} v
          WHERE ${
          sql.and([
            sql`v.organization_id = ${organization_id}`,
            ...(status === null ? [] : [sql`v.status = ${status}`]),
            ...(assigned_user_id === null ? [] : [sql`v.assigned_user_id = ${assigned_user_id}`]),
            ...(unassigned === null ? [] : [sql`v.assigned_user_id IS NULL`]),
            ...more,
            sql`(v.last_activity_at, v.id) < (${at}::timestamptz, ${id}::uuid)`
          ])
        }
          ORDER BY ${sql.literal(order)} v.last_activity_at DESC, v.id DESC
          LIMIT ${page.size}
        `
      const all = sql.literal("conversations")
      const on = (channel: string) => channel_id === null ? [] : [sql`${sql.literal(channel)} = ${channel_id}`]
      if (contact_id !== null) {
        // `OFFSET 0` keeps the planner from reading the index in the list's order.
        const ofContact = sql`(${threadsOf(sql, organization_id, contact_id, "*")} OFFSET 0)`
        return sql`(${selectFrom(ofContact, "", ...on("v.channel_id"))})`
      }
      if (assigned_user_id === null && unassigned === null) return sql`(${selectFrom(all, "", ...on("v.channel_id"))})`
      const ofChannel = selectFrom(all, "v.assigned_user_id, v.channel_id, v.status,", sql`v.channel_id = h.id`)
      return sql`(
        SELECT v.*
        FROM channels h
        CROSS JOIN LATERAL (${ofChannel}) v
        WHERE ${sql.and([sql`h.organization_id = ${organization_id}`, ...on("h.id")])}
      )`
    }

    const columns = sql.literal(list.columns)
    const joined = sql.literal(joins)

    return ConversationStore.of({
      find: (organization_id, id) => find({ organization_id, id }),
      list: (organization_id, filters, page) =>
        Effect.orDie(list.rows(sql`
          SELECT ${columns}
          FROM (${
          sql.join(" UNION ALL ", false)(
            statusesOf(filters).map((status) => pageOf(organization_id, { ...filters, status }, page))
          )
        }) v
          ${joined}
          ORDER BY v.last_activity_at DESC, v.id DESC
          LIMIT ${page.size}
        `)),
      findThreads: (organization_id, { id, type }, network_ids) =>
        Effect.map(
          Effect.forEach(
            network_ids,
            (network_id) => findThread({ organization_id, channel_id: id, channel_type: type, network_id }),
            concurrently
          ),
          Array.getSomes
        )
    })
  })
)
