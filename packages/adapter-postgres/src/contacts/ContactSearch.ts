/** How a page of contacts is found in PostgreSQL. */
import type { ContactMatch } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { SqlClient, Statement } from "effect/sql"
import { startOf } from "../database/Columns.ts"

/** Returns the condition that an index has the order for, or null where there is no such index. */
const ordered = (
  sql: SqlClient.SqlClient,
  { channel, lifecycle_stage, search_terms, owner_user_id, tag_id }: ContactMatch
): Statement.Fragment | null => {
  if (channel !== null || search_terms !== null || tag_id !== null) return null
  if (owner_user_id === null && lifecycle_stage === null) return sql`true`
  if (lifecycle_stage === null) return sql`c.owner_user_id = ${owner_user_id}`
  return owner_user_id === null ? sql`c.lifecycle_stage = ${lifecycle_stage}` : null
}

/**
 * Returns the contacts `c` of a page and, at times, what comes after it: read
 * from an index that has their order, or by the ids that `find_contacts` finds.
 */
export const pageOf = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  match: ContactMatch,
  page: PageRequest
): Statement.Fragment => {
  const { at, id } = startOf(page)
  const condition = ordered(sql, match)
  if (condition !== null) {
    return sql`
      FROM contacts c
      WHERE c.organization_id = ${organization_id}
        AND ${condition}
        AND (c.updated_at, c.id) < (${at}::timestamptz, ${id}::uuid)
    `
  }
  const { channel, lifecycle_stage, search_terms, owner_user_id, tag_id } = match
  return sql`
    FROM find_contacts(
      ${organization_id}, ${at}, ${id}, ${page.size}, ${owner_user_id}, ${lifecycle_stage}, ${tag_id}, ${channel},
      ${search_terms}::text[]
    ) found (id)
    JOIN contacts c ON c.organization_id = ${organization_id} AND c.id = found.id
  `
}
