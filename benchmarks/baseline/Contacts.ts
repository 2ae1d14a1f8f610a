/** Reading a contact, and lists of them. */
import type { FastifyInstance } from "fastify"
import { type Filters, filters, listOf } from "./ContactLists.ts"
import { columns, Contact, contactOf } from "./ContactRows.ts"
import * as Cursors from "./Cursors.ts"
import type { Query, Statement } from "./Database.ts"
import { notFound } from "./Errors.ts"
import * as Schemas from "./Schemas.ts"

const contact = {
  name: "contact",
  text: `SELECT ${columns} FROM contacts c WHERE c.id = $2 AND c.organization_id = $1`
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
    const [row] = await query(contact, [key.organization_id, params.contact_id])
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
    const list = `contacts ${key.organization_id} ${owner_user_id} ${lifecycle_stage} ${tag_id} ${needle}`
    const { name, text, values } = listOf(key.organization_id, filters, Cursors.decode(list, cursor), size + 1)
    const statement = statements.get(name) ?? { name, text: text() }
    statements.set(name, statement)
    const rows = await query(statement, values)
    const data = rows.slice(0, size).map(contactOf)
    const last = rows.length > size ? data.at(-1) : undefined
    return {
      data,
      next_cursor: last === undefined ? null : Cursors.encode(list, { time: last.updated_at, id: last.id })
    }
  })
}
