/**
 * The rows of contacts: their columns, and the texts by which a contact is found.
 */
import { Schema } from "effect"
import * as Changes from "../work/Changes.ts"
import { Contact } from "./Contact.ts"
import { emailKey, type Searched, searchText } from "./ContactSearch.ts"

/** The columns of a contact. Its row includes the texts by which it is found, and copies of its identities and tags. */
export const ContactColumns = Schema.Struct({
  ...Contact.fields,
  search_text: Schema.String,
  email_key: Schema.NullOr(Schema.String)
})
export interface ContactColumns extends Schema.Schema.Type<typeof ContactColumns> {}

export const ContactRows = Changes.declareTable(ContactColumns)({
  name: "contacts",
  key: { id: "uuid" },
  activity: {
    row: "contact_id",
    latest: "last_activity_at",
    newest: { last_activity_preview: "preview", last_conversation_id: "conversation_id" },
    moved: { updated_at: "at" }
  }
})

/** Returns the texts by which a contact is found. */
export const searchColumnsOf = (contact: Searched) => ({
  search_text: searchText(contact),
  email_key: emailKey(contact.primary_email)
})

/** Inserts a contact with the texts by which it is found. */
export const insertContact = (contact: Contact): Changes.Changes =>
  ContactRows.insert({ ...contact, ...searchColumnsOf(contact) })
