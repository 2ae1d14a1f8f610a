/** The rows by which contacts are searched: search texts, tags, and names of identities. */
import type { Alias, Update } from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import type { Table } from "@messaging-crm/core/Table"
import type { Owned, Part, Values } from "./Part.ts"

const contacts_reindexed: Part = {
  name: "contacts_reindexed",
  body: `
    UPDATE contact_texts copy
    SET search_text = written.fields ->> 'search_text'
    FROM contacts_written written
    WHERE copy.organization_id = written.organization_id AND copy.contact_id = written.id
      AND written.fields ? 'search_text'
    RETURNING 1`
}

const contacts_untagged: Part = {
  name: "contacts_untagged",
  body: `
    DELETE FROM contact_tags copy
    USING contacts_written written
    WHERE copy.organization_id = written.organization_id AND copy.contact_id = written.id
      AND written.fields ? 'tags'
      AND NOT written.fields -> 'tags' @> jsonb_build_array(jsonb_build_object('id', copy.tag_id))
    RETURNING 1`
}

const contacts_tagged: Part = {
  name: "contacts_tagged",
  body: `
    INSERT INTO contact_tags (organization_id, contact_id, tag_id)
    SELECT written.organization_id, written.id, (tag ->> 'id')::uuid
    FROM contacts_written written, jsonb_array_elements(written.fields -> 'tags') AS tag
    ON CONFLICT DO NOTHING
    RETURNING 1`
}

/** Returns the columns with copies that updates of contacts set, each with whether one of them does. */
const setsOf = (updates: ReadonlyArray<Update>) => {
  const sets = (column: string) => updates.some(({ set, table }) => table === ContactRows.table && column in set)
  return { search_text: sets("search_text"), tags: sets("tags") }
}

/** Returns what distinguishes statements that update contacts. */
export const shapeOf = (updates: ReadonlyArray<Update>): ReadonlyArray<boolean> => Object.values(setsOf(updates))

/**
 * Updates the search text and tags of contacts.
 *
 * They have tables of their own, because every message updates the contact's row.
 */
export const updateCopies = (updates: ReadonlyArray<Update>): ReadonlyArray<Part> => {
  const { search_text, tags } = setsOf(updates)
  return [...(search_text ? [contacts_reindexed] : []), ...(tags ? [contacts_untagged, contacts_tagged] : [])]
}

/** Returns the text that inserts the search texts of the contacts in an expression. */
export const insertTexts = (contacts: string): string => `
    INSERT INTO contact_texts (organization_id, contact_id, search_text)
    SELECT organization_id, id, search_text
    FROM ${contacts}`

/** Returns the text that inserts the tags of the contacts in an expression. */
export const insertTags = (contacts: string): string => `
    INSERT INTO contact_tags (organization_id, contact_id, tag_id)
    SELECT organization_id, id, (tag ->> 'id')::uuid
    FROM ${contacts}, jsonb_array_elements(tags) AS tag`

/** Inserts the search text and tags of new contacts. */
export const insertCopies = (
  { json }: Values,
  table: Table,
  contacts: ReadonlyArray<Owned<object>>
): ReadonlyArray<Part> =>
  table !== ContactRows.table ? [] : [{
    name: "contacts_described",
    body: `
    SELECT organization_id, id, search_text, tags
    FROM jsonb_to_recordset(${json(contacts)}) AS given (organization_id uuid, id uuid, search_text text, tags jsonb)`
  }, {
    name: "contacts_indexed",
    body: `${insertTexts("contacts_described")}
    RETURNING 1`
  }, {
    name: "contacts_first_tagged",
    body: `${insertTags("contacts_described")}
    RETURNING 1`
  }]

/** Inserts network IDs of identities, except those that exist. */
export const insertAliases = ({ json }: Values, aliases: ReadonlyArray<Owned<Alias>>): Part => ({
  name: "aliases_inserted",
  body: `
    INSERT INTO identity_names (organization_id, channel_type, name, identity_id)
    SELECT organization_id, channel_type, name, identity_id
    FROM jsonb_populate_recordset(NULL::identity_names, ${json(aliases)})
    ORDER BY channel_type, name
    ON CONFLICT DO NOTHING
    RETURNING 1`
})
