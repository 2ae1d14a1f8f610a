/** Finds a page of contacts in PostgreSQL. */
import type { ContactMatch } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { SqlClient, Statement } from "effect/sql"
import { startOf } from "../database/Columns.ts"

/** Returns whether contacts have to be searched for, because no index has those that match in the list's order. */
export const isSearch = ({ channel, lifecycle_stage, search_terms, owner_user_id, tag_id }: ContactMatch): boolean =>
  channel !== null || search_terms !== null || tag_id !== null || (owner_user_id !== null && lifecycle_stage !== null)

/** Returns the condition of filters that need no search. */
const ordered = (
  sql: SqlClient.SqlClient,
  { lifecycle_stage, owner_user_id }: ContactMatch
): Statement.Fragment => {
  if (owner_user_id !== null) return sql`c.owner_user_id = ${owner_user_id}`
  return lifecycle_stage === null ? sql`true` : sql`c.lifecycle_stage = ${lifecycle_stage}`
}

/**
 * Returns the FROM clause of a page of contacts `c`, read either from an index that
 * has the list's order or by the ids from `find_contacts`. The caller applies the
 * order and the limit.
 */
export const pageOf = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  match: ContactMatch,
  page: PageRequest
): Statement.Fragment => {
  const { at, id } = startOf(page)
  if (!isSearch(match)) {
    return sql`
      FROM contacts c
      WHERE c.organization_id = ${organization_id}
        AND ${ordered(sql, match)}
        AND (c.updated_at, c.id) < (${at}::timestamptz, ${id}::uuid)
    `
  }
  const { channel, lifecycle_stage, search_terms, owner_user_id, tag_id } = match
  return sql`
    FROM find_contacts(
      ${organization_id}, ${at}, ${id}, ${page.size}, ${owner_user_id}, ${lifecycle_stage}, ${tag_id}, ${channel},
      ${search_terms}::text[]
    ) found (id)
    -- OFFSET has each contact looked up by its id. For a join, a table that was small when it was planned would be read whole.
    CROSS JOIN LATERAL (
      SELECT *
      FROM contacts
      WHERE organization_id = ${organization_id} AND id = found.id
      OFFSET 0
    ) c
    WHERE (c.updated_at, c.id) < (${at}::timestamptz, ${id}::uuid)
  `
}
