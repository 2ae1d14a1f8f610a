/** Splits the callbacks of WhatsApp by person, for which it reads only the IDs in a change. */
import { idOf, isObject, type Items, objectOf } from "../../GraphSchemas.ts"
import { type EntryPart, fieldOf, personIdsIn, personIdsInEcho } from "../Entry.ts"
import { peopleFinder } from "./People.ts"

/** Returns a change whose value has the lists. A `standby` change has them one level deeper, in `value.standby`. */
export const withLists = (change: unknown): unknown => {
  if (!isObject(change) || change["field"] !== "standby" || !isObject(change["value"])) return change
  const { standby, ...value } = change["value"]
  return { ...change, value: { ...value, ...(isObject(standby) ? standby : {}), metadata: value["metadata"] } }
}

const itemsOf = (value: unknown): typeof Items.Type => Array.isArray(value) ? value : []

/**
 * Splits a change into its messages and statuses, each with the contacts of the people in it.
 *
 * Each part repeats only the IDs of the account. Otherwise the parts of a large body could together be many times as large.
 */
export const splitChange = (entry_id: string | null, given: unknown): ReadonlyArray<EntryPart> => {
  const change = withLists(given)
  const { contacts: contact_list, metadata, ...lists } = objectOf(objectOf(change)["value"])
  const { display_phone_number, phone_number_id } = objectOf(metadata)
  const id = idOf(phone_number_id)
  const account = id === null ? null : { type: "phone_messaging" as const, id }
  const contacts = itemsOf(contact_list)
  const items = Object.entries(lists).flatMap(([name, list]) =>
    itemsOf(list).map((item) => ({
      name,
      item,
      people: name === "message_echoes" ? personIdsInEcho(item) : personIdsIn(item)
    }))
  )
  if (account === null || items.length < 2) {
    const people = [...(items[0]?.people ?? []), ...contacts.flatMap(personIdsIn)]
    return [{ account, people, entries: [{ id: entry_id, changes: [change] }] }]
  }
  const ids = { phone_number_id: account.id, display_phone_number: idOf(display_phone_number) }
  const contactsOfPeople = peopleFinder(contacts)
  return items.map(({ item, name, people }) => {
    const own = contactsOfPeople(people)
    const value = { metadata: ids, ...(own.length === 0 ? {} : { contacts: own }), [name]: [item] }
    return {
      account,
      people: [...people, ...own.flatMap(personIdsIn)],
      entries: [{ id: entry_id, changes: [{ field: fieldOf(change), value }] }]
    }
  })
}
