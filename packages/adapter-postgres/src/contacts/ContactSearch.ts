/**
 * Finds a page of contacts in PostgreSQL, in one of four ways (`planOf`).
 *
 * | Filters | Way | Reads |
 * | --- | --- | --- |
 * | an external ID, which at most one contact of each channel type has | `indexed` | these contacts, and checks the other filters |
 * | none, or one of owner, stage, phone, and email | `indexed` | the page, by the index of the filter |
 * | any other with a phone or email | `exact` | at most `exact_max` contacts with that phone or email, and checks the other filters |
 * | a tag with an owner or a stage | `newest_first` | the newest contacts of the owner or stage; searches only if they do not fill the page |
 * | any other | `search` | what `find_contacts.sql` finds |
 *
 * Only `indexed` uses the shared connections: each other way may read many contacts for a page of a few.
 */
import { ChannelType, networkOf } from "@messaging-crm/core/Channels"
import type { Contact, ContactCriteria } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Found, PageRequest } from "@messaging-crm/core/Page"
import { Effect, Predicate } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { LongRows } from "../database/LongRows.ts"
import { date, json, startOf } from "../database/RowCodecs.ts"

/** How a page is found, and the filters that its contacts pass. */
export interface Plan {
  readonly way: "indexed" | "exact" | "newest_first" | "search"
  readonly match: ContactCriteria
}

/** Returns whether an index finds the page. */
const hasIndex = (
  { channel, email_key, external_id, lifecycle_stage, owner_user_id, phones, search_terms, tag_id }: ContactCriteria
) => {
  if (external_id !== null) return true
  if (channel !== null || search_terms !== null || tag_id !== null) return false
  return [email_key, lifecycle_stage, owner_user_id, phones].filter(Predicate.isNotNull).length <= 1
}

const isTagOfOwnerOrStage = ({ channel, lifecycle_stage, owner_user_id, search_terms, tag_id }: ContactCriteria) =>
  tag_id !== null && (owner_user_id !== null || lifecycle_stage !== null) && channel === null && search_terms === null

const wayOf = (match: ContactCriteria): Plan["way"] => {
  if (hasIndex(match)) return "indexed"
  if (match.email_key !== null || match.phones !== null) return "exact"
  return isTagOfOwnerOrStage(match) ? "newest_first" : "search"
}

/** Decides how to find the contacts that meet some criteria. */
export const planOf = (criteria: ContactCriteria): Plan => {
  // Every text contains the empty term, which is not in the index of texts.
  const search_terms = criteria.search_terms?.includes("") === true ? null : criteria.search_terms
  const match = { ...criteria, search_terms }
  return { way: wayOf(match), match }
}

/** Returns the condition that `contact` has one of the phones. */
const hasPhone = (sql: SqlClient.SqlClient, phones: ReadonlyArray<string>): Statement.Fragment =>
  sql.or(phones.map((phone) => sql`contact.primary_phone = ${phone}`))

/** Returns the condition that `contact` passes the filters, except `updated_since` and that for an external ID. */
const passes = (sql: SqlClient.SqlClient, match: ContactCriteria): Statement.Fragment => {
  const { channel, email_key, external_id, lifecycle_stage, owner_user_id, phones, search_terms, tag_id } = match
  const conditions: Array<Statement.Fragment> = []
  if (phones !== null) conditions.push(hasPhone(sql, phones))
  if (email_key !== null) conditions.push(sql`contact.email_key = ${email_key}`)
  if (channel !== null && external_id === null) {
    const known = sql`contact.identities @> ${json([{ channel_type: channel }])}::jsonb`
    conditions.push(
      networkOf(channel).has_phones ? sql`(${known} OR contact.primary_phone IS NOT NULL)` : known
    )
  }
  if (owner_user_id !== null) conditions.push(sql`contact.owner_user_id = ${owner_user_id}`)
  if (lifecycle_stage !== null) conditions.push(sql`contact.lifecycle_stage = ${lifecycle_stage}`)
  if (tag_id !== null) conditions.push(sql`contact.tags @> ${json([{ id: tag_id }])}::jsonb`)
  if (search_terms !== null) {
    conditions.push(sql.or(search_terms.map((term) => sql`strpos(contact.search_text, ${term}) > 0`)))
  }
  return sql.and(conditions)
}

/** A page of contacts to select, by columns of `contact`. */
interface Selected extends Plan {
  readonly columns: string
  readonly organization_id: OrganizationId
  readonly page: PageRequest
}

/** Returns the condition that `contact` was updated since the given time, and comes after the start of the page. */
const isOnPage = (sql: SqlClient.SqlClient, { match: { updated_since }, page }: Selected): Statement.Fragment => {
  const { at, id } = startOf(page)
  const follows = sql`(contact.updated_at, contact.id) < (${at}::timestamptz, ${id}::uuid)`
  return updated_since === null ? follows : sql`${follows} AND contact.updated_at >= ${date(updated_since)}`
}

/**
 * Returns the contacts of an organization with an external ID.
 *
 * `OFFSET 0` keeps the order of the page out of the subquery. Otherwise, PostgreSQL reads the whole index of that order.
 */
const withExternalId = (
  sql: SqlClient.SqlClient,
  { match: { channel, external_id }, organization_id }: Selected
): Statement.Fragment =>
  sql`(
    SELECT *
    FROM contacts
    WHERE organization_id = ${organization_id} AND id = ANY(ARRAY(
      SELECT identity.contact_id
      FROM identity_names identity_name
      JOIN identities identity ON identity.organization_id = identity_name.organization_id
        AND identity.id = identity_name.identity_id
      WHERE identity_name.organization_id = ${organization_id} AND identity_name.name = ${external_id}
        AND identity_name.channel_type = ANY(${channel === null ? ChannelType.literals : [channel]}::text[])
    ))
    OFFSET 0
  )`

/**
 * Returns the table of contacts, or of those with each spelling of a number the first `limit` on the page.
 *
 * The index of phones has the contacts of one spelling in the order of the page. A condition with two would read all of them.
 */
const contactsWithPhone = (
  sql: SqlClient.SqlClient,
  selected: Selected,
  limit: Statement.Fragment
): Statement.Fragment => {
  const { match: { phones }, organization_id } = selected
  const [first, second] = (phones ?? []).map((phone) =>
    sql`(
      SELECT contact.*
      FROM contacts contact
      WHERE contact.organization_id = ${organization_id} AND contact.primary_phone = ${phone} AND ${
      isOnPage(sql, selected)
    }
      ORDER BY contact.updated_at DESC, contact.id DESC
      LIMIT ${limit}
    )`
  )
  return second === undefined ? sql`contacts` : sql`(${first} UNION ALL ${second})`
}

/** How many of the newest contacts of an owner or a stage are read for a page of those with a tag. */
const newest_max = 1500

/**
 * A tag with at most this many contacts cannot fill a page of the default size. One with a few more can, so the newest contacts
 * are read for it although `find_contacts` would look it up (`lookup_max`).
 */
export const rare_max = 20

/**
 * Returns the statement that selects a page of a tag from the newest contacts of its owner or stage. If it fills the page, no
 * older contact belongs on it.
 *
 * It fills most pages, and takes about a third less time of PostgreSQL than `find_contacts`. It reads nothing for a rare tag, whose
 * contacts the function looks up: a limit of 0 costs less than a condition, which makes PostgreSQL copy each row. For the
 * same reason, only the contacts of the page are read in full, by their `ctid`, which cannot change within the statement's
 * snapshot. A `ctid` is unique only within one partition, so the join also compares the key.
 */
const newestOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> => {
  const { columns, match: { lifecycle_stage, owner_user_id, tag_id }, organization_id, page } = selected
  const isIndexed = owner_user_id === null
    ? sql`contact.lifecycle_stage = ${lifecycle_stage}`
    : sql`contact.owner_user_id = ${owner_user_id}`
  const isInStage = owner_user_id === null || lifecycle_stage === null
    ? sql`TRUE`
    : sql`newest.lifecycle_stage = ${lifecycle_stage}`
  return sql`
    SELECT ${sql.literal(columns)}
    FROM (
      SELECT contact.ctid AS row_id, contact.updated_at, contact.id, contact.tags, contact.lifecycle_stage
      FROM contacts contact
      WHERE contact.organization_id = ${organization_id} AND ${isIndexed} AND ${isOnPage(sql, selected)}
      ORDER BY contact.updated_at DESC, contact.id DESC
      LIMIT ${sql.literal(String(newest_max))} * EXISTS (
        SELECT FROM contact_tags WHERE organization_id = ${organization_id} AND tag_id = ${tag_id}
        OFFSET ${sql.literal(String(rare_max))}
      )::integer
    ) newest
    JOIN contacts contact ON contact.ctid = newest.row_id AND contact.organization_id = ${organization_id}
      AND contact.id = newest.id
    WHERE newest.tags @> ${json([{ id: tag_id }])}::jsonb AND ${isInStage}
    ORDER BY newest.updated_at DESC, newest.id DESC
    LIMIT ${page.size}
  `
}

/** Returns the statement that selects a page that is `indexed`. */
const indexedOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> => {
  const { columns, match, organization_id, page } = selected
  const source = match.external_id === null
    ? contactsWithPhone(sql, selected, sql`${page.size}`)
    : withExternalId(sql, selected)
  return sql`
    SELECT ${sql.literal(columns)}
    FROM ${source} contact
    WHERE contact.organization_id = ${organization_id} AND ${passes(sql, match)} AND ${isOnPage(sql, selected)}
    ORDER BY contact.updated_at DESC, contact.id DESC
    LIMIT ${page.size}
  `
}

/** How many contacts with the same phone or email are read for a page. An import may give all contacts the same one. */
const exact_max = 40_000

/**
 * Returns the statement that selects a page that is `exact`. If `exact_max` contacts do not fill it, it also selects the last of
 * them.
 */
const exactOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> => {
  const { columns, match, organization_id, page } = selected
  const { email_key, phones } = match
  const read_max = sql.literal(String(exact_max))
  // With both, PostgreSQL would read all that have one of them to find `exact_max` with the other.
  const [source, isExact] = email_key === null
    ? [contactsWithPhone(sql, selected, read_max), hasPhone(sql, phones ?? [])]
    : [sql`contacts`, sql`contact.email_key = ${email_key}`]
  const all = sql`
    FROM ${source} contact
    WHERE contact.organization_id = ${organization_id} AND ${isExact} AND ${isOnPage(sql, selected)}
    ORDER BY contact.updated_at DESC, contact.id DESC`
  return sql`
    WITH page AS (
      SELECT ${sql.literal(columns)}, TRUE AS is_match
      FROM (SELECT contact.* ${all} LIMIT ${read_max}) contact
      WHERE ${passes(sql, match)}
      ORDER BY contact.updated_at DESC, contact.id DESC
      LIMIT ${page.size}
    )
    SELECT *
    FROM page
    UNION ALL
    SELECT ${sql.literal(columns)}, FALSE
    FROM contacts contact
    WHERE contact.organization_id = ${organization_id} AND contact.id = (
      SELECT contact.id ${all}
      OFFSET ${read_max} - 1 LIMIT ((SELECT count(*) FROM page) < ${page.size})::integer
    )
    ORDER BY updated_at DESC, id DESC
  `
}

/** Returns the statement that searches for the page. If the search stops early, it also selects the last contact read. */
const searchOf = (sql: SqlClient.SqlClient, selected: Selected): Statement.Statement<unknown> => {
  const { columns, match, organization_id, page } = selected
  const { channel, lifecycle_stage, owner_user_id, search_terms, tag_id, updated_since } = match
  const { at, id } = startOf(page)
  return sql`
    SELECT ${sql.literal(columns)}, contact.search_text IS NOT NULL AS is_match
    FROM find_contacts(
      ${organization_id}, ${at}, ${id}, ${page.size}, ${owner_user_id}, ${lifecycle_stage}, ${tag_id}, ${channel},
      ${channel !== null && networkOf(channel).has_phones}, ${search_terms}::text[], ${
    updated_since === null ? "-infinity" : date(updated_since)
  }
    ) contact
    ORDER BY contact.updated_at DESC, contact.id DESC
  `
}

/** Where a page is found: the client, and what runs before a second statement. */
interface Place {
  readonly sql: SqlClient.SqlClient
  readonly proceed: Effect.Effect<void>
}

/** Finds a page in the way of its plan. */
export const read = (
  { proceed, sql }: Place,
  list: LongRows<Contact>,
  wanted: Omit<Selected, "columns">
): Effect.Effect<Found<Contact>, SqlError.SqlError> => {
  const { page, way } = wanted
  const read = (statementOf: typeof indexedOf, has_matches: boolean) =>
    list.page(sql, {
      organization_id: wanted.organization_id,
      statementOf: (columns) => statementOf(sql, { ...wanted, columns }),
      has_matches,
      proceed
    })
  switch (way) {
    case "indexed":
      return read(indexedOf, false)
    case "exact":
      return read(exactOf, true)
    case "newest_first":
      return Effect.flatMap(
        read(newestOf, false),
        (newest) =>
          newest.rows.length === page.size || newest.stopped_at !== null
            ? Effect.succeed(newest)
            : Effect.andThen(proceed, read(searchOf, true))
      )
    case "search":
      return read(searchOf, true)
  }
}
