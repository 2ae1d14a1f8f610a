/** Reading a contact, and lists of them. */
import type { FastifyInstance } from "fastify"
import * as Cursors from "./Cursors.ts"
import type { Query, Row, Statement } from "./Database.ts"
import { notFound } from "./Errors.ts"
import * as Schemas from "./Schemas.ts"

export const stages = [
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
] as const

const { plain, plainOrNull, text, textOrNull } = Schemas

const Contact = Schemas.closedObject({
  id: plain,
  first_name: textOrNull,
  last_name: textOrNull,
  primary_email: textOrNull,
  primary_phone: plainOrNull,
  company: textOrNull,
  job_title: textOrNull,
  birthday: plainOrNull,
  city: textOrNull,
  region: textOrNull,
  country: textOrNull,
  street_address: textOrNull,
  postal_code: textOrNull,
  website_url: textOrNull,
  network_url: textOrNull,
  source: textOrNull,
  notes: textOrNull,
  owner_user_id: plainOrNull,
  lead_status: plainOrNull,
  lifecycle_stage: plainOrNull,
  custom_values: { type: "object", additionalProperties: text },
  identities: {
    type: "array",
    items: Schemas.closedObject({
      id: plain,
      channel_type: plain,
      external_id: text,
      display_name: textOrNull,
      username: textOrNull
    })
  },
  tags: { type: "array", items: Schemas.closedObject({ id: plain, name: text, color: plain }) },
  last_activity_at: plainOrNull,
  last_activity_preview: textOrNull,
  last_conversation_id: plainOrNull,
  updated_at: plain
})

const columns = Object.keys(Contact.properties).map((column) => `c.${column}`).join(", ")

/** The contact of a row with these columns. */
const contactOf = (row: Row) => ({
  id: row[0],
  first_name: row[1],
  last_name: row[2],
  primary_email: row[3],
  primary_phone: row[4],
  company: row[5],
  job_title: row[6],
  birthday: row[7],
  city: row[8],
  region: row[9],
  country: row[10],
  street_address: row[11],
  postal_code: row[12],
  website_url: row[13],
  network_url: row[14],
  source: row[15],
  notes: row[16],
  owner_user_id: row[17],
  lead_status: row[18],
  lifecycle_stage: row[19],
  custom_values: row[20],
  identities: row[21],
  tags: row[22],
  last_activity_at: row[23],
  last_activity_preview: row[24],
  last_conversation_id: row[25],
  updated_at: row[26]
})

const one = {
  name: "contact",
  text: `SELECT ${columns} FROM contacts c WHERE c.id = $2 AND c.organization_id = $1`
}

interface Filters {
  readonly page_size?: string
  readonly cursor?: string
  readonly query?: string
  readonly tag_id?: string
  readonly owner_user_id?: string
  readonly lifecycle_stage?: string
}

const filters = {
  page_size: Schemas.page_size,
  cursor: Schemas.cursor,
  query: { type: "string", maxLength: 200 },
  tag_id: Schemas.uuid,
  owner_user_id: Schemas.uuid,
  lifecycle_stage: { type: "string", enum: stages }
}

/** The pattern that a query looks for, if it is not blank. */
const patternOf = (query = ""): string | undefined => {
  const needle = query.trim().toLowerCase()
  return needle === "" ? undefined : `%${needle.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}

/** From three characters on, the trigram index finds the contacts, and their rows come after; with fewer, the list is walked. */
const searched = (pattern: string, parameter: string) =>
  pattern.length < 5
    ? {
      from: "contacts c",
      condition: `EXISTS (SELECT FROM contact_texts t WHERE t.contact_id = c.id AND t.search_text LIKE ${parameter})`
    }
    : {
      from: `(
        SELECT contact_id FROM contact_texts WHERE organization_id = $1 AND search_text LIKE ${parameter} OFFSET 0
      ) found JOIN contacts c ON c.id = found.contact_id`,
      condition: "c.organization_id = $1"
    }

/** Returns the statement for the given filters, and their values. Each combination has its own statement and plan. */
const list = (organization: string, filters: Filters, after: Cursors.Place | undefined, limit: number) => {
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
    // With another filter, the tags are read in the rows that its index finds.
    const isAlone = owner_user_id === undefined && lifecycle_stage === undefined
    const [parameter] = add("tag", tag_id)
    conditions.push(
      isAlone
        ? `EXISTS (SELECT FROM contact_tags t WHERE t.contact_id = c.id AND t.tag_id = ${parameter})`
        : `c.tag_ids @> ARRAY[${parameter}::uuid]`
    )
  }
  if (pattern !== undefined) {
    const [parameter = ""] = add(pattern.length < 5 ? "short" : "text", pattern)
    const search = searched(pattern, parameter)
    from = search.from
    conditions.push(search.condition)
  }
  if (after !== undefined) conditions.push(`(c.updated_at, c.id) < (${add("after", after.time, after.id).join(", ")})`)
  const [end] = add("page", limit)
  const text = () => `
    SELECT ${columns} FROM ${from} WHERE ${conditions.join(" AND ")} ORDER BY c.updated_at DESC, c.id DESC LIMIT ${end}`
  return { name, text, values }
}

export const routes = (app: FastifyInstance, query: Query): void => {
  const config = { scope: "contacts:read" }

  app.get<{ Params: { contact_id: string } }>("/contacts/:contact_id", {
    config,
    schema: {
      params: Schemas.request({ contact_id: Schemas.uuid }),
      querystring: Schemas.request({}),
      response: { 200: Schemas.data(Contact) }
    }
  }, async ({ key, params }) => {
    const [row] = await query(one, [key.organization_id, params.contact_id])
    if (row === undefined) throw notFound("contact")
    return { data: contactOf(row) }
  })

  const statements = new Map<string, Statement>()

  app.get<{ Querystring: Filters }>("/contacts", {
    config,
    schema: { querystring: Schemas.request(filters), response: { 200: Schemas.page(Contact) } }
  }, async ({ key, query: filters }) => {
    const { cursor, lifecycle_stage, owner_user_id, page_size, query: needle, tag_id } = filters
    const size = Number(page_size ?? 50)
    const place = `contacts ${key.organization_id} ${owner_user_id} ${lifecycle_stage} ${tag_id} ${needle}`
    const { name, text, values } = list(key.organization_id, filters, Cursors.decode(place, cursor), size + 1)
    const statement = statements.get(name) ?? { name, text: text() }
    statements.set(name, statement)
    const rows = await query(statement, values)
    const data = rows.slice(0, size).map(contactOf)
    const last = rows.length > size ? data.at(-1) : undefined
    return {
      data,
      next_cursor: last === undefined ? null : Cursors.encode(place, { time: last.updated_at, id: last.id })
    }
  })
}
