import type { WithResponse } from "./Attempt.ts"
import type { AddNote, Contact, CreateContact, UpdateContact, UpsertContacts, UpsertedContacts } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { ConditionalOptions, Query, RequestOptions, Transport } from "./Transport.ts"

/** `/contacts`: list, create, upsert, get, update, and add a note. */
export const contacts = ({ list, one }: Transport) => ({
  /** Lists contacts, the most recently updated first. A contact must match all filters. */
  list: (query: Query<"GET /contacts"> = {}, options?: RequestOptions): Pages<Contact> =>
    list("GET /contacts", { query }, options),
  /** Creates a contact. A contact requires a name, a phone, or an email. No message is sent. */
  create: (contact: CreateContact, options?: RequestOptions): Promise<WithResponse<Contact>> =>
    one("POST /contacts", { body: contact }, options),
  /**
   * Updates each contact of the request that exists, or creates it: the existing one has the same value in the field
   * that `match` names. Returns the outcome of each, in order.
   */
  upsert: (input: UpsertContacts, options?: RequestOptions): Promise<WithResponse<UpsertedContacts>> =>
    one("POST /contacts/upsert", { body: input }, options),
  /** Returns a contact. */
  get: (contact_id: string, options?: RequestOptions): Promise<WithResponse<Contact>> =>
    one("GET /contacts/{contact_id}", { path: { contact_id } }, options),
  /**
   * Changes the given fields. `null` clears a field, `custom_values` changes only the custom fields that it
   * contains, `tag_ids` replaces all tags, `add_tag_ids` and `remove_tag_ids` change single ones. With `ifMatch`, nothing
   * changes if the contact has changed since it was read.
   */
  update: (contact_id: string, changes: UpdateContact, options?: ConditionalOptions): Promise<WithResponse<Contact>> =>
    one("PATCH /contacts/{contact_id}", { path: { contact_id }, body: changes }, options),
  /** Appends a note to the contact's notes. */
  addNote: (contact_id: string, note: AddNote, options?: ConditionalOptions): Promise<WithResponse<Contact>> =>
    one("POST /contacts/{contact_id}/notes", { path: { contact_id }, body: note }, options)
})
