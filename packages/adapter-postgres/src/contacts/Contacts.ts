import {
  Contact,
  ContactStore,
  Identity,
  positionOf,
  searchColumnsOf,
  SearchTimeout
} from "@messaging-crm/core/Contacts"
import { ContactId, nil } from "@messaging-crm/core/Ids"
import { Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { longRows } from "../database/LongRows.ts"
import { json, repeated, rows, selection, stored } from "../database/RowCodecs.ts"
import { makeSearch } from "../database/SearchConnections.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"
import * as Audit from "../work/Audit.ts"
import { insertTags, insertTexts } from "../work/Commit/Contacts.ts"
import * as ContactSearch from "./ContactSearch.ts"

const Row = Schema.Struct({
  ...stored(Contact).fields,
  identities: Contact.fields.identities,
  tags: repeated(Contact.fields.tags)
})
const LoadedRow = Schema.Struct({ ...Row.fields, version: Schema.Int })

const contacts = rows(Row)
const expressionOf = (column: string): string => column === "tags" ? "contact.tags::text" : `contact.${column}`
const { columns } = selection(Row, expressionOf)
const list = longRows(Row, expressionOf, {
  long: { custom_values: "jsonb", notes: "text" },
  positionOf,
  time: "updated_at"
})
const loadedRows = rows(LoadedRow)
const matches = rows(Schema.Struct({ ...LoadedRow.fields, is_ambiguous: Schema.Boolean }))
const knownPeople = rows(
  Schema.Struct({ has_id: Schema.Boolean, has_phone: Schema.Boolean, has_email: Schema.Boolean })
)
const insertedIds = rows(Schema.Struct({ id: ContactId }))

/** The columns of an identity and its contact, found by a network ID. */
export const Known = Schema.Struct({
  network_id: Schema.String,
  identity: Schema.Struct({ ...Identity.fields, contact_id: ContactId, version: Schema.Int }),
  contact: Schema.Struct({
    ...Struct.pick(Row.fields, ["id", "first_name", "last_name", "identities"]),
    version: Schema.Int
  })
})

/** The text that selects the columns of `Known` from `identity_name`, `identity`, and `contact`. */
export const known_columns = `
  identity_name.name AS network_id, to_jsonb(identity) AS identity,
  jsonb_build_object('id', contact.id, 'first_name', contact.first_name, 'last_name', contact.last_name,
    'identities', contact.identities, 'version', contact.version) AS contact`

const knownIdentities = rows(Known)

/** Every column of a contact. Its identities and tags are copies, so that lists need no query per row. */
const insertable = Object.keys(Contact.fields)

/** Makes the functions that find the most recently updated contact with the first of some values of a column. */
const makeMatchers = (sql: SqlClient.SqlClient) => {
  const matchBy = (column: "email_key" | "primary_phone") => {
    const same =
      `FROM contacts contact WHERE contact.organization_id = key.organization_id AND contact.${column} = given.value`
    return StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", given: "text" },
      select: `
        SELECT matched.*
        FROM jsonb_array_elements_text(key.given::jsonb) WITH ORDINALITY AS given (value, position)
        CROSS JOIN LATERAL (
          SELECT ${columns}, contact.version, EXISTS (SELECT ${same} OFFSET 1) AS is_ambiguous ${same}
          ORDER BY contact.updated_at DESC, contact.id DESC
          LIMIT 1
        ) AS matched
        ORDER BY given.position`,
      decode: matches
    })
  }
  return { email_key: matchBy("email_key"), primary_phone: matchBy("primary_phone") }
}

/** Makes the function that lists contacts, on the connections for searches if it must search for them. */
const makeList = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const search = yield* makeSearch(sql, () => new SearchTimeout())
  const listed: ContactStore["Service"]["list"] = (organization_id, criteria, page) => {
    const plan = ContactSearch.planOf(criteria)
    const read = (client: SqlClient.SqlClient, proceed: Effect.Effect<void>) =>
      ContactSearch.read({ sql: client, proceed }, list, { ...plan, organization_id, page })
    return plan.way === "indexed" ? Effect.orDie(read(sql, Effect.void)) : search(organization_id, read)
  }
  return listed
})

/** Makes the function that looks up what the organization already has of contacts to import. */
const makeKnownPeople = (sql: SqlClient.SqlClient): ContactStore["Service"]["knownPeople"] => {
  // Each value is looked up on its own (`LIMIT`), so the plan is that of one value, whatever the size of the table.
  const first = (condition: string) => `
    LEFT JOIN LATERAL (
      SELECT true AS found
      FROM contacts
      WHERE organization_id = $1::uuid AND ${condition}
      LIMIT 1
    )`
  const text = `
    SELECT by_id.found IS NOT NULL AS has_id, by_phone.found IS NOT NULL AS has_phone, by_email.found IS NOT NULL AS has_email
    FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
      AS person (id, phone, other_phone, email_key, position)
    ${first("id = person.id")} AS by_id ON true
    ${first("primary_phone IN (person.phone, person.other_phone) AND id <> person.id")} AS by_phone ON true
    ${first("email_key = person.email_key AND id <> person.id")} AS by_email ON true
    ORDER BY person.position`
  return (organization_id, people) => {
    // The client cannot encode a list of nulls. No contact has these values instead.
    const values = [
      people.map(({ id }) => id ?? nil),
      people.map(({ phones }) => phones[0] ?? ""),
      people.map(({ phones }) => phones[1] ?? ""),
      people.map(({ email_key }) => email_key ?? "")
    ]
    return knownPeople(sql.unsafe(text, [organization_id, ...values]))
  }
}

/** Returns the function that inserts those contacts of an import that do not exist, ordered by ID, so that concurrent imports do not deadlock. */
const insertNewInto =
  (sql: SqlClient.SqlClient): ContactStore["Service"]["insertNew"] => (organization_id, imported, records) => {
    const values = imported.map((contact) => ({ ...contact, ...searchColumnsOf(contact) }))
    const audits = records.map((record) => ({ ...record, organization_id }))
    const columns = sql.literal([...insertable, "search_text", "email_key"].join(", "))
    return Effect.map(
      insertedIds(sql`
      WITH inserted AS (
        INSERT INTO contacts (organization_id, ${columns})
        SELECT ${organization_id}::uuid, ${columns}
        FROM jsonb_populate_recordset(NULL::contacts, ${json(values)})
        ORDER BY id
        ON CONFLICT DO NOTHING
        RETURNING organization_id, id, search_text, tags
      ), found_by AS (${sql.literal(insertTexts("inserted"))}
      ), tagged AS (${sql.literal(insertTags("inserted"))}
      ), audited AS (
        ${sql.literal(Audit.insert)}(NULL::audit_records, ${json(audits)})
        WHERE resource_id IN (SELECT id FROM inserted)
      )
      SELECT id
      FROM inserted
    `),
      (all) => all.map(({ id }) => id)
    )
  }

/** Layer that keeps contacts in PostgreSQL. */
export const layer = Layer.effect(
  ContactStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const byId = {
      key: { organization_id: "uuid", id: "uuid" },
      select: `
        SELECT ${columns}, contact.version
        FROM contacts contact
        WHERE contact.organization_id = key.organization_id AND contact.id = key.id`
    } as const
    const find = StatementBatcher.makeByKey(sql, { ...byId, decode: contacts })
    const load = StatementBatcher.makeByKey(sql, { ...byId, decode: loadedRows })
    const matchers = makeMatchers(sql)

    return ContactStore.of({
      find: (organization_id, id) => find({ organization_id, id }),
      load: (organization_id, id) => load({ organization_id, id }),
      list: yield* makeList(sql),
      identify: (organization_id, channel_type, network_ids) =>
        knownIdentities(sql`
          SELECT ${sql.literal(known_columns)}
          FROM identity_names identity_name
          JOIN identities identity ON identity.organization_id = identity_name.organization_id
            AND identity.id = identity_name.identity_id
          JOIN contacts contact ON contact.organization_id = identity.organization_id AND contact.id = identity.contact_id
          WHERE identity_name.organization_id = ${organization_id}
            AND identity_name.channel_type = ${channel_type}
            AND identity_name.name = ANY(${network_ids}::text[])
          ORDER BY array_position(${network_ids}::text[], identity_name.name)
        `),
      match: (organization_id, by, values) => matchers[by]({ organization_id, given: JSON.stringify(values) }),
      knownPeople: makeKnownPeople(sql),
      insertNew: insertNewInto(sql)
    })
  })
)
