/** The people whom the items of a WhatsApp change name: their names and other IDs, which the network sends as `contacts`. */
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Option, Schema } from "effect"
import { type Items, lenient, StorableText } from "../../GraphSchemas.ts"
import { type Ids, networkIdsOf, rankOf } from "../../PersonIds.ts"
import { personIdsIn } from "../Entry.ts"
import { ContactIds } from "../PersonFields.ts"

type Person = ProviderMessageReceived["from"]

const NamedPerson = Schema.Struct({
  profile: lenient(Schema.Struct({ name: lenient(StorableText), username: lenient(StorableText) })),
  ...ContactIds
})
export type NamedPerson = typeof NamedPerson.Type

const decodeNamedPerson = Schema.decodeUnknownOption(NamedPerson)

/** Returns the people in the readable `contacts` of a change. */
export const namedPeopleOf = (items: typeof Items.Type): ReadonlyArray<NamedPerson> =>
  items.flatMap((item) => Option.toArray(decodeNamedPerson(item)))

const idsOf = ({ parent_user_id, user_id, wa_id }: NamedPerson): Ids => [wa_id, user_id, parent_user_id]

/**
 * Returns whether a named person is the one with these IDs.
 *
 * One with any of these IDs is that person. The only one of a change is too, unless
 * they have another number or another user ID: the network can omit any of the IDs.
 */
export const isPersonWith = (ids: ReadonlyArray<string>, isAlone: boolean) => (named: NamedPerson): boolean => {
  const own = networkIdsOf(idsOf(named))
  if (own.some((id) => ids.includes(id))) return true
  return isAlone && !own.some((one) => ids.some((other) => rankOf(one) === rankOf(other)))
}

/**
 * Returns a function that finds the `contacts` of the people with some IDs, as `isPersonWith` does, with one lookup for each ID:
 * a change can have a thousand contacts and messages.
 */
export const peopleFinder = (contacts: ReadonlyArray<unknown>) => {
  const byId = new Map<string, Array<unknown>>()
  for (const contact of contacts) {
    for (const id of networkIdsOf(personIdsIn(contact))) {
      const withId = byId.get(id)
      if (withId === undefined) byId.set(id, [contact])
      else withId.push(contact)
    }
  }
  const [alone, ...more] = namedPeopleOf(contacts)
  return (given: Ids): ReadonlyArray<unknown> => {
    const ids = networkIdsOf(given)
    const found = Array.from(new Set(ids.flatMap((id) => byId.get(id) ?? [])))
    return found.length === 0 && alone !== undefined && more.length === 0 && isPersonWith(ids, true)(alone)
      ? contacts
      : found
  }
}

/** Returns the person with these IDs and the names, or none if there is no ID. */
export const personWith = (ids: Ids, named: NamedPerson | undefined): Option.Option<Person> => {
  const [external_id, ...aliases] = networkIdsOf(ids)
  return Option.map(Option.fromUndefinedOr(external_id), (external_id) => ({
    external_id,
    aliases,
    display_name: named?.profile?.name ?? null,
    username: named?.profile?.username ?? null
  }))
}

/** Returns the person with these IDs, with the other IDs and the names that the change has of them. */
export const personOf = (ids: Ids, people: ReadonlyArray<NamedPerson>): Option.Option<Person> => {
  const named = people.find(isPersonWith(networkIdsOf(ids), people.length === 1))
  return personWith([...ids, ...(named === undefined ? [] : idsOf(named))], named)
}
