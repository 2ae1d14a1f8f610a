import type { Answered } from "./Attempt.ts"
import type { AddNote, Contact, CreateContact, UpdateContact } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** `/contacts`: list, create, get, update, and add a note. */
export const contacts = ({ list, one }: Transport) => ({
  /** Lists contacts, the most recently updated first. Filters combine. */
  list: (query: Query<"GET /contacts"> = {}, options?: RequestOptions): Pages<Contact> =>
    list("GET /contacts", { query }, options),
  /** Creates a contact, which needs a name, a phone or an email. Sends no message. */
  create: (contact: CreateContact, options?: RequestOptions): Promise<Answered<Contact>> =>
    one("POST /contacts", { body: contact }, options),
  get: (contact_id: string, options?: RequestOptions): Promise<Answered<Contact>> =>
    one("GET /contacts/{contact_id}", { path: { contact_id } }, options),
  /** Changes the fields that are given. Null clears one, `tag_ids` replaces all tags, `custom_values` merges by key. */
  update: (contact_id: string, changes: UpdateContact, options?: RequestOptions): Promise<Answered<Contact>> =>
    one("PATCH /contacts/{contact_id}", { path: { contact_id }, body: changes }, options),
  /** Appends a note to the contact's notes. */
  addNote: (contact_id: string, note: AddNote, options?: RequestOptions): Promise<Answered<Contact>> =>
    one("POST /contacts/{contact_id}/notes", { path: { contact_id }, body: note }, options)
})
