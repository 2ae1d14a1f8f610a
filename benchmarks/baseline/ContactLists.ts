/** The statements that list contacts. */
import { columns, stages } from "./ContactRows.ts"
import type * as Cursors from "./Cursors.ts"
import * as Schemas from "./Schemas.ts"

export interface Filters {
  readonly page_size?: string
  readonly cursor?: string
  readonly query?: string
  readonly tag_id?: string
  readonly owner_user_id?: string
  readonly lifecycle_stage?: string
}

/** The schemas of the query parameters. */
export const filters = {
  page_size: Schemas.page_size,
  cursor: Schemas.cursor,
  query: { type: "string", maxLength: 200 },
  tag_id: Schemas.uuid,
  owner_user_id: Schemas.uuid,
  lifecycle_stage: { type: "string", enum: stages }
}

/** Returns the pattern that a query searches for, unless it is blank. */
const patternOf = (query = ""): string | undefined => {
  const needle = query.trim().toLowerCase()
  return needle === "" ? undefined : `%${needle.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}

/** Searches with the trigram index for three or more characters. For fewer, PostgreSQL reads the list in its order. */
const searchOf = (pattern: string, parameter: string) =>
  pattern.length < 5
    ? {
      from: "contacts c",
      condition: `EXISTS (SELECT FROM contact_texts t WHERE t.contact_id = c.id AND t.search_text LIKE ${parameter})`
    }
    : {
      from: `(
        SELECT contact_id FROM contact_texts WHERE organization_id = $1 AND search_text LIKE ${parameter} OFFSET 0
      ) matches JOIN contacts c ON c.id = matches.contact_id`,
      condition: "c.organization_id = $1"
    }

/** Returns the statement for these filters, and their values. Each combination has its own statement and plan. */
export const listOf = (organization: string, filters: Filters, after: Cursors.Position | undefined, limit: number) => {
  const values: Array<unknown> = [organization]
  const conditions = ["c.organization_id = $1"]
  let name = "contacts"
  let from = "contacts c"
  const add = (part: string, ...parameters: ReadonlyArray<unknown>): ReadonlyArray<string> => {
    name += `_${part}`
    return parameters.map((value) => `$${values.push(value)}`)
  }
  const { lifecycle_stage, owner_user_id, query, tag_id } = filters
  const pattern = patternOf(query)
  if (owner_user_id !== undefined) conditions.push(`c.owner_user_id = ${add("owner", owner_user_id)}`)
  if (lifecycle_stage !== undefined) conditions.push(`c.lifecycle_stage = ${add("stage", lifecycle_stage)}`)
  if (tag_id !== undefined) {
    // With another filter, PostgreSQL reads the tags in the rows that the filter's index finds.
    const isOnlyFilter = owner_user_id === undefined && lifecycle_stage === undefined
    const [parameter] = add("tag", tag_id)
    conditions.push(
      isOnlyFilter
        ? `EXISTS (SELECT FROM contact_tags t WHERE t.contact_id = c.id AND t.tag_id = ${parameter})`
        : `c.tag_ids @> ARRAY[${parameter}::uuid]`
    )
  }
  if (pattern !== undefined) {
    const [parameter = ""] = add(pattern.length < 5 ? "short" : "text", pattern)
    const search = searchOf(pattern, parameter)
    from = search.from
    conditions.push(search.condition)
  }
  if (after !== undefined) conditions.push(`(c.updated_at, c.id) < (${add("after", after.time, after.id).join(", ")})`)
  const [end] = add("page", limit)
  const text = () => `
    SELECT ${columns} FROM ${from} WHERE ${conditions.join(" AND ")} ORDER BY c.updated_at DESC, c.id DESC LIMIT ${end}`
  return { name, text, values }
}
