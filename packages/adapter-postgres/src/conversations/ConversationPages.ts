/** Selects the rows of a page of conversations, by the index that suits its filters. */
import { type ConversationFilters, ConversationStatus } from "@messaging-crm/core/Conversations"
import type { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { SqlClient, Statement } from "effect/sql"
import { startOf } from "../database/RowCodecs.ts"

/** Selects a column, or all, of a contact's conversations, by the unique key of channel and identity. */
export const conversationsOf = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  contact_id: ContactId,
  column: "*" | "id" = "id"
) =>
  sql`
    SELECT conversation.${sql.literal(column)}
    FROM identities identity
    JOIN channels channel ON channel.organization_id = identity.organization_id
    JOIN conversations conversation ON conversation.organization_id = identity.organization_id
      AND conversation.channel_id = channel.id AND conversation.identity_id = identity.id
    WHERE identity.organization_id = ${organization_id} AND identity.contact_id = ${contact_id}
  `

/** Returns the statuses that are queried separately. Null queries all at once, for filters whose index does not contain the status. */
const statusesOf = ({ assigned_user_id, channel_id, contact_id, status, unassigned }: ConversationFilters) => {
  if (status !== null || contact_id !== null) return [status]
  return assigned_user_id === null && unassigned === null && channel_id === null ? [null] : ConversationStatus.literals
}

/** A page of conversations to select. */
interface Selected {
  readonly organization_id: OrganizationId
  readonly filters: ConversationFilters
  readonly page: PageRequest
}

/** Selects each `conversation` of a page from a source, under further conditions, and sorted by a prefix before the list's order. */
const selectFrom = (
  sql: SqlClient.SqlClient,
  { filters: { assigned_user_id, status, unassigned }, organization_id, page }: Selected,
  source: Statement.Fragment,
  order_prefix: string,
  more: ReadonlyArray<Statement.Fragment>
) => {
  const { at, id } = startOf(page)
  const conditions = sql.and([
    sql`conversation.organization_id = ${organization_id}`,
    ...(status === null ? [] : [sql`conversation.status = ${status}`]),
    ...(assigned_user_id === null ? [] : [sql`conversation.assigned_user_id = ${assigned_user_id}`]),
    ...(unassigned === null ? [] : [sql`conversation.assigned_user_id IS NULL`]),
    ...more,
    sql`(conversation.last_activity_at, conversation.id) < (${at}::timestamptz, ${id}::uuid)`
  ])
  return sql`
    SELECT conversation.*
    FROM ${source} conversation
    WHERE ${conditions}
    ORDER BY ${sql.literal(order_prefix)} conversation.last_activity_at DESC, conversation.id DESC
    LIMIT ${page.size}
  `
}

/**
 * Selects the first conversations of a page, in the list's order.
 *
 * Those of a contact are few, and are read before they are sorted. Those of a member, or of none, are read channel by
 * channel, because their index has the channel. The order includes all columns of that index, so that the planner can
 * use no other.
 */
const pageOf = (sql: SqlClient.SqlClient, selected: Selected) => {
  const { filters: { assigned_user_id, channel_id, contact_id, unassigned }, organization_id } = selected
  const all = sql.literal("conversations")
  const onChannel = (column: string) => channel_id === null ? [] : [sql`${sql.literal(column)} = ${channel_id}`]
  if (contact_id !== null) {
    // `OFFSET 0` keeps the planner from reading the index in the list's order.
    const ofContact = sql`(${conversationsOf(sql, organization_id, contact_id, "*")} OFFSET 0)`
    return sql`(${selectFrom(sql, selected, ofContact, "", onChannel("conversation.channel_id"))})`
  }
  if (assigned_user_id === null && unassigned === null) {
    return sql`(${selectFrom(sql, selected, all, "", onChannel("conversation.channel_id"))})`
  }
  const indexed = "conversation.assigned_user_id, conversation.channel_id, conversation.status,"
  return sql`(
    SELECT conversation.*
    FROM channels channel
    CROSS JOIN LATERAL (
      ${selectFrom(sql, selected, all, indexed, [sql`conversation.channel_id = channel.id`])}
    ) conversation
    WHERE ${sql.and([sql`channel.organization_id = ${organization_id}`, ...onChannel("channel.id")])}
  )`
}

/** Selects the first conversations of a page, of each status by itself where that is faster; not sorted among each other. */
export const selectPage = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  filters: ConversationFilters,
  page: PageRequest
): Statement.Fragment =>
  sql.join(" UNION ALL ", false)(
    statusesOf(filters).map((status) => pageOf(sql, { organization_id, filters: { ...filters, status }, page }))
  )
