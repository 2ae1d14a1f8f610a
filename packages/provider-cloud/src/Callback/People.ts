/** Reads who is meant in a callback of phone messaging: a person has a number, a user id, or both. */
import type { IdentityChanged, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Option, Schema } from "effect"
import { isNumber, otherSpellings, spelled } from "../Spellings.ts"
import { type Items, lenient, NetworkId, StorableText } from "../Wire.ts"

type Person = ProviderMessageReceived["from"]

export const Contact = Schema.Struct({
  profile: lenient(Schema.Struct({ name: lenient(StorableText), username: lenient(StorableText) })),
  wa_id: lenient(NetworkId),
  user_id: lenient(NetworkId),
  /** The ID of the same person for a group of businesses. */
  parent_user_id: lenient(NetworkId)
})
export type Contact = typeof Contact.Type

const decodeContact = Schema.decodeUnknownOption(Contact)

/** Returns the readable contacts of a change. */
export const contactsOf = (items: typeof Items.Type): ReadonlyArray<Contact> =>
  items.flatMap((item) => Option.toArray(decodeContact(item)))

type Ids = ReadonlyArray<string | undefined>

const isText = (value: string | undefined): value is string => value !== undefined

/** Returns the place of an id among those of a person, by which they can be reached: numbers first, parent ids last. */
const placeOf = (name: string): number => isNumber(name) ? 0 : /^[A-Z]{2}\.ENT\./.test(name) ? 2 : 1

/** Returns the distinct ids in core's form: numbers first, the other spellings of the numbers last. */
export const networkIdsOf = (ids: Ids): ReadonlyArray<string> => {
  const names = ids.filter(isText).map(spelled).toSorted((a, b) => placeOf(a) - placeOf(b))
  return Array.from(new Set([...names, ...names.flatMap(otherSpellings)]))
}

const idsOf = ({ parent_user_id, user_id, wa_id }: Contact): Ids => [wa_id, user_id, parent_user_id]

/**
 * Returns whether a contact is the person with these ids.
 *
 * One that shares an id is. One of a change that has no other contact is too,
 * unless it has another number or another user id: any id may be missing.
 */
export const isOf = (names: ReadonlyArray<string>, isAlone: boolean) => (contact: Contact): boolean => {
  const own = networkIdsOf(idsOf(contact))
  if (own.some((name) => names.includes(name))) return true
  return isAlone && !own.some((one) => names.some((other) => placeOf(one) === placeOf(other)))
}

/** Returns the person with these ids, as they and the contacts of the change tell of them. */
export const personOf = (ids: Ids, contacts: ReadonlyArray<Contact>): Option.Option<Person> => {
  const contact = contacts.find(isOf(networkIdsOf(ids), contacts.length === 1))
  const [external_id, ...aliases] = networkIdsOf([...ids, ...(contact === undefined ? [] : idsOf(contact))])
  return Option.map(Option.fromUndefinedOr(external_id), (external_id) => ({
    external_id,
    aliases,
    display_name: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null
  }))
}

type Change = Pick<IdentityChanged, "event" | "former_aliases" | "former_external_id" | "now">

/** Returns the change of a person's ids; none where it does not name a former and a new one. */
export const identityChange = (former: Ids, now: Ids, contact?: Contact): Option.Option<Change> => {
  const names = networkIdsOf(now)
  const [external_id, ...aliases] = names
  const [former_external_id, ...former_aliases] = networkIdsOf(former).filter((name) => !names.includes(name))
  if (former_external_id === undefined || external_id === undefined) return Option.none()
  return Option.some({
    event: "identity_changed",
    former_external_id,
    ...(former_aliases.length === 0 ? {} : { former_aliases }),
    now: {
      external_id,
      aliases,
      display_name: contact?.profile?.name ?? null,
      username: contact?.profile?.username ?? null
    }
  })
}

/** The parts of a system message that name a person. */
export const System = Schema.Struct({
  type: lenient(Schema.String),
  wa_id: lenient(NetworkId),
  new_wa_id: lenient(NetworkId),
  /** The former number. */
  customer: lenient(NetworkId),
  user_id: lenient(NetworkId),
  previous_user_id: lenient(NetworkId),
  parent_user_id: lenient(NetworkId),
  previous_parent_user_id: lenient(NetworkId)
})

/**
 * Returns the change that a system message tells of.
 *
 * Its sender is the former number when the message names another one, and the
 * former user id when it names another one. Where a number changes the user id of
 * the sender is taken as it is.
 */
export const systemChange = (
  { from, from_user_id }: { readonly from?: string; readonly from_user_id?: string },
  { customer, new_wa_id, parent_user_id, previous_parent_user_id, previous_user_id, user_id, wa_id }: typeof System.Type
): Option.Option<Change> => {
  const number = wa_id ?? new_wa_id
  const formerUserId = previous_user_id ?? (user_id === undefined ? undefined : from_user_id)
  const userId = user_id ?? (from_user_id === formerUserId ? undefined : from_user_id)
  return identityChange(
    [number === undefined ? undefined : from ?? customer, formerUserId, previous_parent_user_id],
    [number, userId, parent_user_id]
  )
}

const Change = Schema.Struct({ previous: lenient(NetworkId), current: lenient(NetworkId) })

/** An update of a user id: the two ids in one field, or in a field each. */
const UserIdUpdate = Schema.Struct({
  wa_id: lenient(NetworkId),
  user_id: lenient(Schema.Union([NetworkId, Change])),
  previous_user_id: lenient(NetworkId),
  parent_user_id: lenient(Change)
})
const decodeUserIdUpdate = Schema.decodeUnknownOption(UserIdUpdate)

/** Returns the change that an update of a user id tells of. Its contacts have the present number. */
export const userIdChange = (item: unknown, contacts: ReadonlyArray<Contact>): Option.Option<Change> =>
  Option.flatMap(decodeUserIdUpdate(item), ({ parent_user_id: parent, previous_user_id, user_id, wa_id }) => {
    const ids = typeof user_id === "object" ? user_id : { previous: undefined, current: user_id }
    const contact = contacts.find(isOf(networkIdsOf([wa_id, ids.current]), contacts.length === 1))
    return identityChange(
      [previous_user_id ?? ids.previous, parent?.previous],
      [wa_id ?? contact?.wa_id, ids.current ?? contact?.user_id, parent?.current],
      contact
    )
  })
