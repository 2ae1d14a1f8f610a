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
import { date } from "../database/Columns.ts"

/** How far the order is followed before all that pass are looked up. */
const stretch = 1000

/** A filter as it is asked of a contact `c`, and the query for all who pass, where that is worth asking. */
interface Filter {
  readonly asked: Statement.Fragment
  readonly passing: Statement.Fragment | null
}

/** Returns the pattern of what contains the term, in which `%` and `_` are ordinary characters. */
const containing = (term: string): string => `%${term.replace(/[\\%_]/g, "\\$&")}%`

/** Returns the pairs of characters in a row, or the only character. */
const gramsOf = (term: string): ReadonlyArray<string> => {
  const characters = Array.from(term)
  const pairs = characters.slice(1).map((character, index) => `${characters[index]}${character}`)
  return pairs.length === 0 ? characters : Array.from(new Set(pairs))
}

/** Returns the conditions on a contact's own columns: an index has the order for each of them. */
const plainConditions = (sql: SqlClient.SqlClient, { lifecycle_stage, owner_user_id }: ContactMatch) => [
  ...(owner_user_id === null ? [] : [sql`c.owner_user_id = ${owner_user_id}`]),
  ...(lifecycle_stage === null ? [] : [sql`c.lifecycle_stage = ${lifecycle_stage}`])
]

/**
 * Returns the condition on `search_text` that an index answers. Trigrams need
 * three letters or digits in a row, and which others than those of ASCII count
 * as such is decided by the database's locale.
 */
const indexed = (sql: SqlClient.SqlClient, term: string): Statement.Fragment => {
  const contained = sql`search_text LIKE ${containing(term)}`
  if (/[a-z0-9]{3}/.test(term)) return contained
  const paired = sql`text_grams(search_text) @> ${gramsOf(term)}::text[]`
  return Array.from(term).length <= 2 ? paired : sql.and([paired, contained])
}

const textFilter = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  search_terms: ReadonlyArray<string>
): Filter => ({
  asked: sql`(
    SELECT ${sql.or(search_terms.map((term) => sql`search_text LIKE ${containing(term)}`))}
    FROM contact_texts
    WHERE organization_id = ${organization_id} AND contact_id = c.id
  )`,
  passing: sql`
    SELECT contact_id
    FROM contact_texts
    WHERE organization_id = ${organization_id} AND ${sql.or(search_terms.map((term) => indexed(sql, term)))}
  `
})

const tagFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId, tag_id: string): Filter => ({
  asked: sql`(
    SELECT true
    FROM contact_tags
    WHERE organization_id = ${organization_id} AND contact_id = c.id AND tag_id = ${tag_id}
  )`,
  passing: sql`
    SELECT contact_id
    FROM contact_tags
    WHERE organization_id = ${organization_id} AND tag_id = ${tag_id}
  `
})

const identityFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId, channel: string) => ({
  asked: sql`(
    SELECT true
    FROM identities
    WHERE organization_id = ${organization_id} AND contact_id = c.id AND channel_type = ${channel}
    LIMIT 1
  )`,
  passing: sql`
    SELECT DISTINCT contact_id
    FROM identities
    WHERE organization_id = ${organization_id} AND channel_type = ${channel}
  `
})

/** A contact is on phone messaging also by its primary phone. As most have one, all of them are a last resort. */
const phoneFilter = (sql: SqlClient.SqlClient, organization_id: OrganizationId, alone: boolean): Filter => {
  const known = identityFilter(sql, organization_id, "phone_messaging")
  const passing = sql`
    SELECT id AS contact_id
    FROM contacts
    WHERE organization_id = ${organization_id} AND primary_phone IS NOT NULL
    UNION
    ${known.passing}
  `
  return { asked: sql`(c.primary_phone IS NOT NULL OR ${known.asked})`, passing: alone ? passing : null }
}

/** Returns the filters that no index has the order for. */
const filters = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  match: ContactMatch
): ReadonlyArray<Filter> => {
  const { channel, search_terms, tag_id } = match
  const [held, second] = plainConditions(sql, match)
  const all = [
    ...(second === undefined ? [] : [{ asked: second, passing: null }]),
    ...(search_terms === null ? [] : [textFilter(sql, organization_id, search_terms)]),
    ...(tag_id === null ? [] : [tagFilter(sql, organization_id, tag_id)])
  ]
  if (channel === null) return all
  if (channel !== "phone_messaging") return [...all, identityFilter(sql, organization_id, channel)]
  return [...all, phoneFilter(sql, organization_id, held === undefined && all.length === 0)]
}

/**
 * Returns the contacts among which those that pass are. Where there are queries
 * for them, each contact is fetched by its id: no planner's guess at their
 * number, which is often far off, then makes it read the others.
 */
const candidates = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  others: ReadonlyArray<Filter>
): Statement.Fragment => {
  const [first, ...rest] = others.flatMap(({ passing }) => passing ?? [])
  if (first === undefined) return sql`contacts c`
  const passing = rest.reduce((some, more) => sql`${some} AND contact_id IN (${more})`, first)
  return sql`(${passing}) passing
    CROSS JOIN LATERAL (
      SELECT organization_id, id, owner_user_id, lifecycle_stage, primary_phone, updated_at
      FROM contacts
      WHERE organization_id = ${organization_id} AND id = passing.contact_id
      OFFSET 0
    ) c`
}

/** Returns the query for the ids of a page of contacts and, at times, for as many that come after it. */
export const idsOf = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  match: ContactMatch,
  { after, size }: PageRequest
): Statement.Fragment => {
  const [held] = plainConditions(sql, match)
  const others = filters(sql, organization_id, match)
  const start = sql.and([
    sql`c.organization_id = ${organization_id}`,
    ...(held === undefined ? [] : [held]),
    ...(after === null ? [] : [sql`(c.updated_at, c.id) < (${date(after.at)}, ${after.id}::uuid)`])
  ])
  if (others.length === 0) {
    return sql`
      SELECT c.id
      FROM contacts c
      WHERE ${start}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT ${size}
    `
  }
  const asked = sql.and(others.map((filter) => filter.asked))
  const unasked = others.flatMap((filter) => filter.passing === null ? filter.asked : [])
  return sql`
    WITH stretch AS MATERIALIZED (
      SELECT c.id, c.updated_at, c.lifecycle_stage, c.primary_phone
      FROM contacts c
      WHERE ${start}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT ${stretch}
    ), near AS MATERIALIZED (
      SELECT c.id
      FROM stretch c
      WHERE ${asked}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT ${size}
    ), far AS MATERIALIZED (
      SELECT c.id, c.updated_at
      FROM ${candidates(sql, organization_id, others)}
      WHERE ${sql.and([start, ...unasked])}
        AND (c.updated_at, c.id) < (SELECT s.updated_at, s.id FROM stretch s ORDER BY s.updated_at, s.id LIMIT 1)
        AND (SELECT count(*) FROM near) < ${size}
        AND (SELECT count(*) FROM stretch) = ${stretch}
    )
    SELECT id
    FROM near
    UNION ALL
    (
      SELECT id
      FROM far
      ORDER BY updated_at DESC, id DESC
      LIMIT ${size}
    )
  `
}
