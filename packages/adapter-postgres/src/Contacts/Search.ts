/**
 * How contacts are found in PostgreSQL.
 *
 * A list is in the order of what changes with every message, and filtered by
 * what hardly ever does, so no index holds both. Two ways lead to a page: along
 * the order, asking contact by contact, and through all that pass, to the first
 * of them. The one is short when many pass, the other when few do, and which it
 * is shows on the way: a page that a stretch of the order does not fill.
 */
import type { ContactMatch } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { SqlClient, Statement } from "effect/sql"
import { date } from "../Columns.ts"

/** How far the order is followed before all that pass are looked up. */
const stretch = 2000

/**
 * A filter, in two forms that each lead to one plan: what is asked of a contact
 * `c`, in a query of its own that the planner cannot turn round, and who passes.
 */
interface Filter {
  readonly asked: Statement.Fragment
  readonly passing: Statement.Fragment
}

/** Returns the pattern of what contains the needle, in which `%` and `_` are ordinary characters. */
const containing = (needle: string): string => `%${needle.replace(/[\\%_]/g, "\\$&")}%`

/** Returns the conditions on a contact's own columns: an index has the order for each of them. */
const plainConditions = (sql: SqlClient.SqlClient, { lifecycle_stage, owner_user_id }: ContactMatch) => [
  ...(owner_user_id === null ? [] : [sql`c.owner_user_id = ${owner_user_id}`]),
  ...(lifecycle_stage === null ? [] : [sql`c.lifecycle_stage = ${lifecycle_stage}`])
]

const textFilter = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  needles: ReadonlyArray<string>
): Filter => {
  const contains = sql.or(needles.map((needle) => sql`search_text LIKE ${containing(needle)}`))
  return {
    asked: sql`(
      SELECT ${contains}
      FROM contact_texts
      WHERE organization_id = ${organization_id} AND contact_id = c.id
    )`,
    passing: sql`c.id IN (
      SELECT contact_id
      FROM contact_texts
      WHERE organization_id = ${organization_id} AND ${contains}
    )`
  }
}

const tagFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId, tag_id: string): Filter => ({
  asked: sql`(
    SELECT true
    FROM contact_tags
    WHERE organization_id = ${organization_id} AND contact_id = c.id AND tag_id = ${tag_id}
  )`,
  passing: sql`c.id IN (
    SELECT contact_id
    FROM contact_tags
    WHERE organization_id = ${organization_id} AND tag_id = ${tag_id}
  )`
})

const identityFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId, channel: string): Filter => ({
  asked: sql`(
    SELECT true
    FROM identities
    WHERE organization_id = ${organization_id} AND contact_id = c.id AND channel_type = ${channel}
    LIMIT 1
  )`,
  passing: sql`c.id IN (
    SELECT contact_id
    FROM identities
    WHERE organization_id = ${organization_id} AND channel_type = ${channel}
  )`
})

/** A contact is on phone messaging also by its primary phone. */
const phoneFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId): Filter => {
  const { asked } = identityFilter(sql, organization_id, "phone_messaging")
  return {
    asked: sql`(c.primary_phone IS NOT NULL OR ${asked})`,
    passing: sql`c.id IN (
      SELECT id
      FROM contacts
      WHERE organization_id = ${organization_id} AND primary_phone IS NOT NULL
      UNION
      SELECT contact_id
      FROM identities
      WHERE organization_id = ${organization_id} AND channel_type = 'phone_messaging'
    )`
  }
}

/** Returns the filters on what is kept beside the contact. */
const filters = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  { channel, needles, tag_id }: ContactMatch
): ReadonlyArray<Filter> => [
  ...(needles === null ? [] : [textFilter(sql, organization_id, needles)]),
  ...(tag_id === null ? [] : [tagFilter(sql, organization_id, tag_id)]),
  ...(channel === null
    ? []
    : [
      channel === "phone_messaging" ? phoneFilter(sql, organization_id) : identityFilter(sql, organization_id, channel)
    ])
]

/** The two ways to the ids of a page, and whether the first needs no second. */
interface Ways {
  readonly along: Statement.Fragment
  readonly through: Statement.Fragment
  readonly alongSuffices: boolean
}

/** Returns the ways to a page of contacts. */
export const ways = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  match: ContactMatch,
  { after, size }: PageRequest
): Ways => {
  const [held, ...rest] = plainConditions(sql, match)
  const start = [
    sql`c.organization_id = ${organization_id}`,
    ...(held === undefined ? [] : [held]),
    ...(after === null ? [] : [sql`(c.updated_at, c.id) < (${date(after.at)}, ${after.id}::uuid)`])
  ]
  const others = [
    ...rest.map((condition) => ({ asked: condition, passing: condition })),
    ...filters(sql, organization_id, match)
  ]
  return {
    along: sql`
      SELECT c.id
      FROM (
        SELECT c.id, c.updated_at, c.lifecycle_stage, c.primary_phone
        FROM contacts c
        WHERE ${sql.and(start)}
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT ${stretch}
      ) c
      WHERE ${sql.and(others.map(({ asked }) => asked))}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT ${size}
    `,
    through: sql`
      WITH passing AS MATERIALIZED (
        SELECT c.id, c.updated_at
        FROM contacts c
        WHERE ${sql.and([...start, ...others.map(({ passing }) => passing)])}
      )
      SELECT id
      FROM passing
      ORDER BY updated_at DESC, id DESC
      LIMIT ${size}
    `,
    alongSuffices: others.length === 0
  }
}
