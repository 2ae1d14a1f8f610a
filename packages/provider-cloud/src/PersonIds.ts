/** The ids of people: as the networks and core write them, in the items of callbacks, and in WhatsApp's contacts. */
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Option, Schema } from "effect"
import { idOf, isObject, type Items, lenient, NetworkId, StorableText } from "./GraphSchemas.ts"

// ---------------------------------------------------------------- ids

/** A phone number as the network writes it: digits only. */
const digits = /^[1-9][0-9]{4,14}$/

/** Returns a network's id in core's form: a number with `+`, any other id unchanged. */
export const coreId = (id: string): string => digits.test(id) ? `+${id}` : id

/** Returns whether an id in core's form is a phone number. */
export const isPhoneNumber = (id: string): boolean => id.startsWith("+") && digits.test(id.slice(1))

/**
 * The numbers with two spellings on WhatsApp: Argentina's with or without
 * the 9, Brazil's mobile numbers with or without the ninth digit, and Mexico's
 * with or without the 1.
 */
const pairs: ReadonlyArray<readonly [long: RegExp, short: RegExp, inserted: string]> = [
  [/^(\+54)9([1-8][0-9]{9})$/, /^(\+54)([1-8][0-9]{9})$/, "9"],
  [/^(\+55[1-9][1-9])9([6-9][0-9]{7})$/, /^(\+55[1-9][1-9])([6-9][0-9]{7})$/, "9"],
  [/^(\+52)1([1-9][0-9]{9})$/, /^(\+52)([1-9][0-9]{9})$/, "1"]
]

/** Returns the other spellings of a number. Most numbers have none. */
export const otherSpellings = (number: string): ReadonlyArray<string> =>
  pairs.flatMap(([long, short, inserted]) => {
    if (long.test(number)) return number.replace(long, "$1$2")
    return short.test(number) ? number.replace(short, `$1${inserted}$2`) : []
  })

export type Ids = ReadonlyArray<string | undefined>

const isPresent = (value: string | undefined): value is string => value !== undefined

/** Returns the rank of an id among those of a person: numbers first, parent ids last. */
const rankOf = (id: string): number => isPhoneNumber(id) ? 0 : /^[A-Z]{2}\.ENT\./.test(id) ? 2 : 1

/** Returns the distinct ids in core's form: numbers first, the other spellings of the numbers last. */
export const networkIdsOf = (given: Ids): ReadonlyArray<string> => {
  const ids = given.filter(isPresent).map(coreId).toSorted((a, b) => rankOf(a) - rankOf(b))
  return Array.from(new Set([...ids, ...ids.flatMap(otherSpellings)]))
}

// ------------------------------------------------------------- fields

/** The fields with the ids of a message's sender: a number, a user ID, and the ID of the same person for a group of businesses. */
export const Sender = {
  from: lenient(NetworkId),
  from_user_id: lenient(NetworkId),
  from_parent_user_id: lenient(NetworkId)
}

/** The fields with the ids of the person to whom the business wrote. */
export const Recipient = {
  to: lenient(NetworkId),
  to_user_id: lenient(NetworkId),
  to_parent_user_id: lenient(NetworkId)
}

/** The fields with the ids of the recipient of the message that a status is about. */
export const StatusRecipient = {
  recipient_id: lenient(NetworkId),
  recipient_user_id: lenient(NetworkId),
  recipient_parent_user_id: lenient(NetworkId)
}

/** The fields with the ids of a person in a contact. */
const ContactIds = {
  wa_id: lenient(NetworkId),
  user_id: lenient(NetworkId),
  parent_user_id: lenient(NetworkId)
}

/** The fields of a system message with a person's former and new ids. */
const SystemIds = {
  ...ContactIds,
  new_wa_id: lenient(NetworkId),
  /** The former number. */
  customer: lenient(NetworkId),
  previous_user_id: lenient(NetworkId),
  previous_parent_user_id: lenient(NetworkId)
}
/** A system message. */
export const System = Schema.Struct({ type: lenient(Schema.String), ...SystemIds })

const Replaced = Schema.Struct({ previous: lenient(NetworkId), current: lenient(NetworkId) })

/** An update of a user id: the two ids in one field, or in a field each. */
export const UserIdUpdate = {
  wa_id: lenient(NetworkId),
  user_id: lenient(Schema.Union([NetworkId, Replaced])),
  previous_user_id: lenient(NetworkId),
  parent_user_id: lenient(Replaced)
}

/** The fields of any item of a callback that name a person. Messaging events have `sender` and `recipient`. */
const person_fields = Object.keys({
  ...Sender,
  ...Recipient,
  ...StatusRecipient,
  ...ContactIds,
  ...UserIdUpdate,
  sender: null,
  recipient: null
})
const system_fields = Object.keys(SystemIds)

const idsIn = (fields: ReadonlyArray<string>, value: unknown): ReadonlyArray<string> =>
  !isObject(value) ? [] : fields.flatMap((field) => {
    const named = value[field]
    const ids = isObject(named) ? [named["id"], named["previous"], named["current"]] : [named]
    return ids.flatMap((id) => id === undefined ? [] : idOf(id)?.replace(/^\+/, "") ?? [])
  })

/** Returns the ids of the senders and recipients of an item of a callback, without a plus sign. */
export const personIdsIn = (item: unknown): ReadonlyArray<string> => {
  const { message = null, system = null } = isObject(item) ? item : {}
  return [...idsIn(person_fields, item), ...idsIn(person_fields, message), ...idsIn(system_fields, system)]
}

// ------------------------------------------------------------ contacts

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
 * Returns a function that finds the contacts of the people with some ids, as `isContactOf` does, with one lookup for each id:
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

/** Returns the person with these ids and the names of a contact, or none if there is no id. */
export const personWith = (ids: Ids, contact: Contact | undefined): Option.Option<Person> => {
  const [external_id, ...aliases] = networkIdsOf(ids)
  return Option.map(Option.fromUndefinedOr(external_id), (external_id) => ({
    external_id,
    aliases,
    display_name: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null
  }))
}

/** Returns the person with these ids, with the other ids and the names in their contact. */
export const personOf = (ids: Ids, contacts: ReadonlyArray<Contact>): Option.Option<Person> => {
  const contact = contacts.find(isContactOf(networkIdsOf(ids), contacts.length === 1))
  return personWith([...ids, ...(contact === undefined ? [] : idsOf(contact))], contact)
}
