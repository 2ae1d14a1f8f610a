/**
 * Splits a callback into one body for each person at each account.
 *
 * A body can hold notices of many people, and of several organizations. Each part
 * is stored on its own, so that an erasure removes what one organization received
 * of one person. Only ids are read here: the readers decide what a notice means.
 */
import { Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"
import { isObject, type Json, lenient, NetworkId } from "../Wire.ts"
import { fieldOf } from "./Notice.ts"
import { contactsOf, isOf, networkIdsOf } from "./People.ts"
import { withLists } from "./Phone.ts"
import { ownerOf } from "./Social.ts"

/** What a part is about. */
export interface PartOf {
  /** Null where the part names no account. */
  readonly account: AccountName | null
  /** The ids of its senders and recipients, without a plus sign. */
  readonly people: ReadonlyArray<string>
}

/** Some entries of a body, all about the same person at the same account. */
export interface Part extends PartOf {
  readonly entry: ReadonlyArray<unknown>
}

const objectOf = (value: unknown): Json => isObject(value) ? value : {}
const itemsOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

const Ids = Schema.Struct({ id: lenient(NetworkId), previous: lenient(NetworkId), current: lenient(NetworkId) })
const Someone = lenient(Schema.Union([NetworkId, Ids]))

/** The fields of a notice that name its sender or recipient. */
const Named = Schema.Struct({
  from: Someone,
  from_user_id: Someone,
  from_parent_user_id: Someone,
  to: Someone,
  to_user_id: Someone,
  to_parent_user_id: Someone,
  recipient: Someone,
  recipient_id: Someone,
  recipient_user_id: Someone,
  recipient_parent_user_id: Someone,
  sender: Someone,
  user_id: Someone,
  previous_user_id: Someone,
  parent_user_id: Someone,
  wa_id: Someone
})

/** The fields with which a system message tells of a person's former and new ids. */
const Changed = Schema.Struct({
  customer: Someone,
  new_wa_id: Someone,
  previous_user_id: Someone,
  user_id: Someone,
  previous_parent_user_id: Someone,
  parent_user_id: Someone,
  wa_id: Someone
})

const decodeNamed = Schema.decodeUnknownOption(Named)
const decodeChanged = Schema.decodeUnknownOption(Changed)

const idsIn = (decoded: Option.Option<typeof Named.Type | typeof Changed.Type>): ReadonlyArray<string> =>
  Object.values(Option.getOrElse(decoded, () => ({}))).flatMap((someone) => {
    const { current, id, previous } = typeof someone === "string" ? { id: someone } : someone ?? {}
    return [id, previous, current].flatMap((id) => id === undefined ? [] : [id.replace(/^\+/, "")])
  })

/** Returns the ids of the people that a notice is about. */
const idsOf = (item: unknown): ReadonlyArray<string> => [
  ...idsIn(decodeNamed(item)),
  ...idsIn(decodeNamed(objectOf(item)["message"])),
  ...idsIn(decodeChanged(objectOf(item)["system"]))
]

const decodeId = Schema.decodeUnknownOption(NetworkId)

const idOf = (value: unknown): string | null => Option.getOrNull(decodeId(value))

/** Returns the account of a type with an id, if it is one. */
const accountOf = (type: AccountName["type"], value: unknown): AccountName | null => {
  const id = idOf(value)
  return id === null ? null : { type, id }
}

/** Returns a function that finds the contacts of the people with some ids, as `People.ts` does, with one look for each id. */
const finder = (contacts: ReadonlyArray<unknown>) => {
  const byName = new Map<string, Array<unknown>>()
  for (const contact of contacts) {
    for (const name of networkIdsOf(idsOf(contact))) {
      const alike = byName.get(name)
      if (alike === undefined) byName.set(name, [contact])
      else alike.push(contact)
    }
  }
  const [alone, ...more] = contactsOf(contacts)
  return (ids: ReadonlyArray<string>): ReadonlyArray<unknown> => {
    const names = networkIdsOf(ids)
    const found = Array.from(new Set(names.flatMap((name) => byName.get(name) ?? [])))
    return found.length === 0 && alone !== undefined && more.length === 0 && isOf(names, true)(alone) ? contacts : found
  }
}

/**
 * Returns the parts of a change: each of its messages and statuses, with the contacts of the people in it.
 *
 * Of what they have in common only ids are repeated, so that many parts of a large body are no larger than it.
 */
const changeParts = (entry_id: unknown) => (given: unknown): ReadonlyArray<Part> => {
  const change = withLists(given)
  const { value } = objectOf(change)
  const { contacts: cards, metadata, ...fields } = objectOf(value)
  const { display_phone_number, phone_number_id } = objectOf(metadata)
  const account = accountOf("phone_messaging", phone_number_id)
  const items = Object.entries(fields).flatMap(([name, items]) => itemsOf(items).map((item) => ({ name, item })))
  const contacts = itemsOf(cards)
  const [only, ...more] = items
  if (account === null || only === undefined || more.length === 0) {
    return [{ account, people: [only?.item, ...contacts].flatMap(idsOf), entry: [{ id: entry_id, changes: [change] }] }]
  }
  const own = { phone_number_id: account.id, display_phone_number: idOf(display_phone_number) }
  const contactsFor = finder(contacts)
  return items.map(({ item, name }) => {
    const ids = idsOf(item)
    const found = contactsFor(ids)
    const about = { metadata: own, ...(found.length === 0 ? {} : { contacts: found }), [name]: [item] }
    return {
      account,
      people: [...ids, ...found.flatMap(idsOf)],
      entry: [{ id: entry_id, changes: [{ field: fieldOf(change), value: about }] }]
    }
  })
}

const phoneParts = ({ changes, id }: Json): ReadonlyArray<Part> => itemsOf(changes).flatMap(changeParts(idOf(id)))

const lists = ["messaging", "standby", "changes"] as const

/** Returns the parts of an entry: each of its items. */
const socialParts = (type: AccountName["type"]) => (entry: Json): ReadonlyArray<Part> => {
  const entry_id = idOf(entry["id"])
  return lists.flatMap((list) =>
    itemsOf(entry[list]).map((item) => {
      const about = list === "changes" ? objectOf(objectOf(item)["value"]) : objectOf(item)
      const { id } = ownerOf(entry_id, {
        isEcho: objectOf(about["message"])["is_echo"] === true,
        recipient_id: idOf(objectOf(about["recipient"])["id"]),
        sender_id: idOf(objectOf(about["sender"])["id"])
      })
      return {
        account: id === null ? null : { type, id },
        people: idsOf(about),
        entry: [{ id: entry_id, [list]: [item] }]
      }
    })
  )
}

const splitters: Readonly<Record<string, (entry: Json) => ReadonlyArray<Part>>> = {
  whatsapp_business_account: phoneParts,
  page: socialParts("page_messaging"),
  instagram: socialParts("photo_social")
}

const keyOf = ({ account, people }: Part): string => JSON.stringify([account?.type, account?.id, people])

/** An account is no person of its own. */
const withoutAccount = (part: Part): Part => ({
  ...part,
  people: Array.from(new Set(part.people)).filter((id) => id !== part.account?.id).toSorted()
})

/** Splits the entries of a body. What is about the same people at the same account stays together, in its order. */
export const split = (object: unknown, entry: ReadonlyArray<unknown>): ReadonlyArray<Part> => {
  const splitter = typeof object === "string" && Object.hasOwn(splitters, object) ? splitters[object] : undefined
  const parts = entry.flatMap((each): ReadonlyArray<Part> => {
    const found = splitter === undefined ? [] : splitter(objectOf(each))
    // What cannot be split is kept, so that a reader counts it.
    return found.length === 0 ? [{ account: null, people: [], entry: [each] }] : found.map(withoutAccount)
  })
  return Array.from(Map.groupBy(parts, keyOf).values(), (alike) => ({
    account: alike[0]?.account ?? null,
    people: alike[0]?.people ?? [],
    entry: alike.flatMap(({ entry }) => entry)
  }))
}
