/**
 * Finds a page of contacts in PostgreSQL, in one of three ways.
 *
 * | Filters | Way |
 * | --- | --- |
 * | a phone, email address, or external ID | reads the few contacts that match it, and checks the other filters |
 * | none, an owner, or a stage | reads an index that has the matching contacts in the list's order |
 * | any other | `find_contacts.sql`; for a tag of an owner or stage only if their newest contacts do not fill the page |
 */
import { ChannelType } from "@messaging-crm/core/Channels"
import type { ContactCriteria } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { date, json, startOf } from "../database/Columns.ts"
import type { Selection } from "../database/Rows.ts"

/** Returns whether a filter matches only a few contacts, which an index of its own finds. */
const isExact = ({ email_key, external_id, phone }: ContactCriteria): boolean =>
  email_key !== null || external_id !== null || phone !== null

/** Returns whether contacts must be searched for, because no index contains the matching contacts in the list's order. */
export const isSearch = (match: ContactCriteria): boolean => {
  const { channel, external_id, lifecycle_stage, search_terms, owner_user_id, tag_id } = match
  return (channel !== null && external_id === null) || search_terms !== null || tag_id !== null ||
    (owner_user_id !== null && lifecycle_stage !== null)
}

/**
 * Returns the contacts of an organization that pass the filter for an external ID, or all of them.
 *
 * `OFFSET 0` keeps the order of the page out of the subquery. Otherwise, PostgreSQL reads the whole index of that order.
 */
const candidates = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  { channel, external_id }: ContactCriteria
): Statement.Fragment =>
  external_id === null ? sql`contacts` : sql`(
    SELECT *
    FROM contacts
    WHERE organization_id = ${organization_id} AND id = ANY(ARRAY(
      SELECT i.contact_id
      FROM identity_names n
      JOIN identities i ON i.organization_id = n.organization_id AND i.id = n.identity_id
      WHERE n.organization_id = ${organization_id} AND n.name = ${external_id}
        AND n.channel_type = ANY(${channel === null ? ChannelType.literals : [channel]}::text[])
    ))
    OFFSET 0
  )`

/** Returns the condition that a contact `c` passes the filters, except `updated_since` and that for an external ID. */
const passes = (sql: SqlClient.SqlClient, match: ContactCriteria): Statement.Fragment => {
  const { channel, email_key, external_id, lifecycle_stage, owner_user_id, phone, search_terms, tag_id } = match
  const conditions: Array<Statement.Fragment> = []
  if (phone !== null) conditions.push(sql`c.primary_phone = ${phone}`)
  if (email_key !== null) conditions.push(sql`c.email_key = ${email_key}`)
  if (channel !== null && external_id === null) {
    const known = sql`c.identities @> ${json([{ channel_type: channel }])}::jsonb`
    conditions.push(
      channel === "phone_messaging" ? sql`(${known} OR c.primary_phone IS NOT NULL)` : known
    )
  }
  if (owner_user_id !== null) conditions.push(sql`c.owner_user_id = ${owner_user_id}`)
  if (lifecycle_stage !== null) conditions.push(sql`c.lifecycle_stage = ${lifecycle_stage}`)
  if (tag_id !== null) conditions.push(sql`c.tags @> ${json([{ id: tag_id }])}::jsonb`)
  if (search_terms !== null) {
    conditions.push(sql.or(search_terms.map((term) => sql`strpos(c.search_text, ${term}) > 0`)))
  }
  return sql.and(conditions)
}

/** A page of contacts to select, by columns of `c`. */
interface Selected {
  readonly columns: string
  readonly organization_id: OrganizationId
  readonly match: ContactCriteria
  readonly page: PageRequest
}

/** Returns the condition that a contact `c` was updated since the given time, and comes after the start of the page. */
const isOnPage = (sql: SqlClient.SqlClient, { match: { updated_since }, page }: Selected): Statement.Fragment => {
  const { at, id } = startOf(page)
  const follows = sql`(c.updated_at, c.id) < (${at}::timestamptz, ${id}::uuid)`
  return updated_since === null ? follows : sql`${follows} AND c.updated_at >= ${date(updated_since)}`
}

/** How many of the newest contacts of an owner or a stage are read for a page of those with a tag. */
const newest_max = 1500

/**
 * Returns the statement that selects the page of a tag from the newest contacts of its owner or stage: a page that it fills
 * is the one of the list. Null if the page has other filters.
 *
 * Most such pages are filled, and this read costs less than the start of `find_contacts`. It reads nothing for a tag with
 * at most 20 contacts, which the function looks up: a limit of 0 costs less than a condition, which makes PostgreSQL copy
 * each row. For the same reason, only the contacts of the page are read in full, by their `ctid`, which cannot change within
 * the statement's snapshot. A `ctid` is unique only within one partition, so the join also compares the key.
 */
const newestPageOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> | null => {
  const { columns, match, organization_id, page } = selected
  const { channel, lifecycle_stage, owner_user_id, search_terms, tag_id } = match
  if (isExact(match) || search_terms !== null || channel !== null || tag_id === null) return null
  if (owner_user_id === null && lifecycle_stage === null) return null
  const isIndexed = owner_user_id === null
    ? sql`c.lifecycle_stage = ${lifecycle_stage}`
    : sql`c.owner_user_id = ${owner_user_id}`
  const isInStage = owner_user_id === null || lifecycle_stage === null
    ? sql`TRUE`
    : sql`newest.lifecycle_stage = ${lifecycle_stage}`
  return sql`
    SELECT ${sql.literal(columns)}
    FROM (
      SELECT c.ctid AS row_id, c.updated_at, c.id, c.tags, c.lifecycle_stage
      FROM contacts c
      WHERE c.organization_id = ${organization_id} AND ${isIndexed} AND ${isOnPage(sql, selected)}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT ${sql.literal(String(newest_max))} * EXISTS (
        SELECT FROM contact_tags WHERE organization_id = ${organization_id} AND tag_id = ${tag_id} OFFSET 20
      )::integer
    ) newest
    JOIN contacts c ON c.ctid = newest.row_id AND c.organization_id = ${organization_id} AND c.id = newest.id
    WHERE newest.tags @> ${json([{ id: tag_id }])}::jsonb AND ${isInStage}
    ORDER BY newest.updated_at DESC, newest.id DESC
    LIMIT ${page.size}
  `
}

/** Returns the source of a page that an index finds: the contacts `c` that pass all filters. */
const indexed = (sql: SqlClient.SqlClient, selected: Selected): Statement.Fragment => {
  const { match, organization_id } = selected
  return sql`${candidates(sql, organization_id, match)} c
    WHERE c.organization_id = ${organization_id} AND ${passes(sql, match)} AND ${isOnPage(sql, selected)}`
}

/** Returns the source of a page that must be searched for. */
const searched = (sql: SqlClient.SqlClient, selected: Selected): Statement.Fragment => {
  const { match: { channel, lifecycle_stage, owner_user_id, search_terms, tag_id }, organization_id, page } = selected
  const { at, id } = startOf(page)
  // A search returns the newest `updated_at` first, so a page begins with the contacts that were updated since the given time.
  return sql`find_contacts(
      ${organization_id}, ${at}, ${id}, ${page.size}, ${owner_user_id}, ${lifecycle_stage}, ${tag_id}, ${channel},
      ${search_terms}::text[]
    ) c
    WHERE ${isOnPage(sql, selected)}`
}

/** Returns the statement that selects the page, in the list's order. */
const pageOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> => {
  const { columns, match, page } = selected
  return sql`
    SELECT ${sql.literal(columns)}
    FROM ${isSearch(match) && !isExact(match) ? searched(sql, selected) : indexed(sql, selected)}
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT ${page.size}
  `
}

/** Reads a page. If the newest contacts fill it, there is no other statement. */
export const read = <Row>(
  sql: SqlClient.SqlClient,
  { columns, rows }: Selection<Row>,
  organization_id: OrganizationId,
  criteria: ContactCriteria,
  page: PageRequest
): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> => {
  // Every text contains the empty term, which is not in the index of texts.
  const search_terms = criteria.search_terms?.includes("") === true ? null : criteria.search_terms
  const selected = { columns, organization_id, match: { ...criteria, search_terms }, page }
  const whole = Effect.suspend(() => rows(pageOf(sql, selected)))
  const newest = newestPageOf(sql, selected)
  return newest === null
    ? whole
    : Effect.flatMap(rows(newest), (found) => found.length === page.size ? Effect.succeed(found) : whole)
}
