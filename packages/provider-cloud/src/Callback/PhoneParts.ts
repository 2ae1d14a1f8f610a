/** Splits the callbacks of phone messaging into parts, each about one message or status. */
import { idOf, isObject, type Items, objectOf } from "../GraphJson.ts"
import { contactFinder, peopleIn } from "../People.ts"
import { fieldOf, type Part } from "./Notice.ts"

const itemsOf = (value: unknown): typeof Items.Type => Array.isArray(value) ? value : []

/** Returns a change whose value has the lists. A `standby` change has them one level deeper, in `value.standby`. */
export const withLists = (change: unknown): unknown => {
  if (!isObject(change) || change["field"] !== "standby" || !isObject(change["value"])) return change
  const { standby, ...value } = change["value"]
  return { ...change, value: { ...value, ...(isObject(standby) ? standby : {}), metadata: value["metadata"] } }
}

/**
 * Splits a change into its messages and statuses, each with the contacts of the people in it.
 *
 * Each part repeats only the ids of the account. Otherwise the parts of a large body could together be many times as large.
 */
export const splitChange = (entry_id: string | null, given: unknown): ReadonlyArray<Part> => {
  const change = objectOf(withLists(given))
  const { contacts: cards, metadata, ...lists } = objectOf(change["value"])
  const { display_phone_number, phone_number_id } = objectOf(metadata)
  const id = idOf(phone_number_id)
  const account = id === null ? null : { type: "phone_messaging" as const, id }
  const contacts = itemsOf(cards)
  const items = Object.entries(lists).flatMap(([name, list]) => itemsOf(list).map((item) => ({ name, item })))
  if (account === null || items.length < 2) {
    const people = [items[0]?.item, ...contacts].flatMap(peopleIn)
    return [{ account, people, entry: [{ id: entry_id, changes: [withLists(given)] }] }]
  }
  const own = { phone_number_id: account.id, display_phone_number: idOf(display_phone_number) }
  const contactsOfPeople = contactFinder(contacts)
  return items.map(({ item, name }) => {
    const people = peopleIn(item)
    const found = contactsOfPeople(people)
    const value = { metadata: own, ...(found.length === 0 ? {} : { contacts: found }), [name]: [item] }
    return {
      account,
      people: [...people, ...found.flatMap(peopleIn)],
      entry: [{ id: entry_id, changes: [{ field: fieldOf(change), value }] }]
    }
  })
}
