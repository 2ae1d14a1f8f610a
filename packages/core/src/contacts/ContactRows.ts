/**
 * The rows of contacts: their columns, and the texts by which a contact is found.
 */
import * as Changes from "../work/Changes.ts"
import type { Contact } from "./Contact.ts"
import { emailKey, type Searched, searchText } from "./ContactSearch.ts"

/** The columns of a contact by which it is found. */
interface SearchColumns {
  readonly search_text: string
  readonly email_key: string | null
}

/** The columns of a contact. Its row includes the texts by which it is found, and copies of its identities and tags. */
export interface ContactColumns extends Contact, SearchColumns {}

export const ContactRows = Changes.declareTable<ContactColumns>()({
  name: "contacts",
  key: { id: "uuid" },
  columns: {
    first_name: "text",
    last_name: "text",
    primary_email: "text",
    primary_phone: "text",
    company: "text",
    job_title: "text",
    birthday: "text",
    city: "text",
    region: "text",
    country: "text",
    street_address: "text",
    postal_code: "text",
    website_url: "text",
    network_url: "text",
    source: "text",
    notes: "text",
    owner_user_id: "uuid",
    lead_status: "text",
    lifecycle_stage: "text",
    custom_values: "jsonb",
    identities: "jsonb",
    tags: "jsonb",
    last_activity_at: "timestamptz",
    last_activity_preview: "text",
    last_conversation_id: "uuid",
    updated_at: "timestamptz",
    search_text: "text",
    email_key: "text"
  },
  unique: null,
  activity: {
    row: "contact_id",
    latest: "last_activity_at",
    newest: { last_activity_preview: "preview", last_conversation_id: "conversation_id" },
    moved: { updated_at: "at" }
  }
})

/** Returns the texts by which a contact is found. */
export const searchColumnsOf = (contact: Searched): SearchColumns => ({
  search_text: searchText(contact),
  email_key: emailKey(contact.primary_email)
})

/** Inserts a contact with the texts by which it is found. */
export const insertContact = (contact: Contact): Changes.Changes =>
  ContactRows.insert({ ...contact, ...searchColumnsOf(contact) })
