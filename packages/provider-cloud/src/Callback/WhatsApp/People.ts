/** The contacts of a WhatsApp change: the names and the other IDs of the people whom its items name. */
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Option, Schema } from "effect"
import { type Items, lenient, StorableText } from "../../GraphSchemas.ts"
import { type Ids, networkIdsOf, rankOf } from "../../PersonIds.ts"
import { personIdsIn } from "../Entry.ts"
import { ContactIds } from "../PersonFields.ts"

type Person = ProviderMessageReceived["from"]

const Contact = Schema.Struct({
  profile: lenient(Schema.Struct({ name: lenient(StorableText), username: lenient(StorableText) })),
  ...ContactIds
})
export type Contact = typeof Contact.Type

const decodeContact = Schema.decodeUnknownOption(Contact)

/** Returns the readable contacts of a change. */
export const contactsOf = (items: typeof Items.Type): ReadonlyArray<Contact> =>
  items.flatMap((item) => Option.toArray(decodeContact(item)))

const idsOf = ({ parent_user_id, user_id, wa_id }: Contact): Ids => [wa_id, user_id, parent_user_id]

/**
 * Returns whether a contact is the person with these IDs.
 *
 * A contact with one of these IDs is that person. The only contact of a change is too, unless
 * it has another number or another user ID: the network can omit any of the IDs.
 */
export const isContactOf = (ids: ReadonlyArray<string>, isAlone: boolean) => (contact: Contact): boolean => {
  const own = networkIdsOf(idsOf(contact))
  if (own.some((id) => ids.includes(id))) return true
  return isAlone && !own.some((one) => ids.some((other) => rankOf(one) === rankOf(other)))
}

/**
 * Returns a function that finds the contacts of the people with some IDs, as `isContactOf` does, with one lookup for each ID:
 * a change can have a thousand contacts and messages.
 */
export const contactFinder = (contacts: ReadonlyArray<unknown>) => {
  const byId = new Map<string, Array<unknown>>()
  for (const contact of contacts) {
    for (const id of networkIdsOf(personIdsIn(contact))) {
      const withId = byId.get(id)
      if (withId === undefined) byId.set(id, [contact])
      else withId.push(contact)
    }
  }
  const [alone, ...more] = contactsOf(contacts)
  return (given: Ids): ReadonlyArray<unknown> => {
    const ids = networkIdsOf(given)
    const found = Array.from(new Set(ids.flatMap((id) => byId.get(id) ?? [])))
    return found.length === 0 && alone !== undefined && more.length === 0 && isContactOf(ids, true)(alone)
      ? contacts
      : found
  }
}

/** Returns the person with these IDs and the names of a contact, or none if there is no ID. */
export const personWith = (ids: Ids, contact: Contact | undefined): Option.Option<Person> => {
  const [external_id, ...aliases] = networkIdsOf(ids)
  return Option.map(Option.fromUndefinedOr(external_id), (external_id) => ({
    external_id,
    aliases,
    display_name: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null
  }))
}

/** Returns the person with these IDs, with the other IDs and the names in their contact. */
export const personOf = (ids: Ids, contacts: ReadonlyArray<Contact>): Option.Option<Person> => {
  const contact = contacts.find(isContactOf(networkIdsOf(ids), contacts.length === 1))
  return personWith([...ids, ...(contact === undefined ? [] : idsOf(contact))], contact)
}
