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

/** Returns the statement that selects columns of a page of contacts `c`, in the list's order. */
export const pageOf = (
  sql: SqlClient.SqlClient,
  columns: string,
  organization_id: OrganizationId,
  match: ContactMatch,
  page: PageRequest
): Statement.Statement<unknown> => {
  const { at, id } = startOf(page)
  const { channel, lifecycle_stage, owner_user_id, tag_id } = match
  // Every text contains an empty one, which the index of texts does not have.
  const search_terms = match.search_terms?.includes("") === true ? null : match.search_terms
  const from = isSearch({ ...match, search_terms })
    ? sql`find_contacts(
        ${organization_id}, ${at}, ${id}, ${page.size}, ${owner_user_id}, ${lifecycle_stage}, ${tag_id}, ${channel},
        ${search_terms}::text[]
      ) c`
    : sql`contacts c
        WHERE c.organization_id = ${organization_id}
          AND ${ordered(sql, match)}
          AND (c.updated_at, c.id) < (${at}::timestamptz, ${id}::uuid)`
  return sql`
    SELECT ${sql.literal(columns)}
    FROM ${from}
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT ${page.size}
  `
}
