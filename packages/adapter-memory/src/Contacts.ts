import { type Contact, type ContactMatch, ContactStore, type Identity, searchText } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Layer, Option } from "effect"
import { page } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const position = (contact: Contact) => ({ at: contact.updated_at, id: contact.id })

const put = (rows: Rows, organization_id: OrganizationId, contact: Contact): Rows => ({
  ...rows,
  contacts: Table.set(rows.contacts, organization_id, contact.id, contact)
})

/** The contacts with a primary phone, without one of them. */
const withoutPhone = (rows: Rows, organization_id: OrganizationId, { id, primary_phone }: Contact): Rows => {
  if (primary_phone === null) return rows
  const others = Option.getOrElse(Table.get(rows.contact_phones, organization_id, primary_phone), () => [])
    .filter((other) => other !== id)
  const { contact_phones } = rows
  return {
    ...rows,
    contact_phones: others.length === 0
      ? Table.remove(contact_phones, organization_id, primary_phone)
      : Table.set(contact_phones, organization_id, primary_phone, others)
  }
}

/** Puts a contact that is new, or whose primary phone may have changed. */
const insert = (rows: Rows, organization_id: OrganizationId, contact: Contact): Rows => {
  const before = Table.get(rows.contacts, organization_id, contact.id)
  const inserted = put(
    Option.isSome(before) ? withoutPhone(rows, organization_id, before.value) : rows,
    organization_id,
    contact
  )
  const phone = contact.primary_phone
  if (phone === null) return inserted
  const others = Option.getOrElse(Table.get(inserted.contact_phones, organization_id, phone), () => [])
  return {
    ...inserted,
    contact_phones: Table.set(inserted.contact_phones, organization_id, phone, [...others, contact.id])
  }
}

const isOn = (contact: Contact, channel: ContactMatch["channel"]): boolean =>
  contact.identities.some(({ channel_type }) => channel_type === channel) ||
  (channel === "phone_messaging" && contact.primary_phone !== null)

const matches = ({ channel, lifecycle_stage, needles, owner_user_id, tag_id }: ContactMatch) => (contact: Contact) =>
  (tag_id === null || contact.tags.some(({ id }) => id === tag_id)) &&
  (owner_user_id === null || contact.owner_user_id === owner_user_id) &&
  (lifecycle_stage === null || contact.lifecycle_stage === lifecycle_stage) &&
  (channel === null || isOn(contact, channel)) &&
  (needles === null || needles.some((needle) => searchText(contact).includes(needle)))

/** Returns the most recently updated contact with that primary phone. */
const withPhone = (rows: Rows, organization_id: OrganizationId, phone: string | null): Option.Option<Contact> => {
  if (phone === null) return Option.none()
  const ids = Option.getOrElse(Table.get(rows.contact_phones, organization_id, phone), () => [])
  const contacts = ids.flatMap((id) => Option.toArray(Table.get(rows.contacts, organization_id, id)))
  return Option.fromUndefinedOr(page(contacts, { after: null, size: 1 }, position)[0])
}

const byId = (a: Identity, b: Identity): number => a.id < b.id ? -1 : 1

/** Layer that keeps contacts and their identities in the in-memory world. */
export const layer = Layer.effect(
  ContactStore,
  Effect.gen(function*() {
    const world = yield* World

    return ContactStore.of({
      insert: (organization_id, contact) => world.modify((rows) => [undefined, insert(rows, organization_id, contact)]),
      insertNew: (organization_id, contacts) =>
        world.modify((rows) => {
          const absent = contacts.filter(({ id }) => !Table.has(rows.contacts, organization_id, id))
          const inserted = absent.reduce((so_far, contact) => insert(so_far, organization_id, contact), rows)
          return [absent.map(({ id }) => id), inserted]
        }),
      find: (organization_id, id) => world.read((rows) => Table.get(rows.contacts, organization_id, id)),
      // A unit of work has the turn to itself, so reading is locking.
      lock: (organization_id, id) => world.read((rows) => Table.get(rows.contacts, organization_id, id)),
      list: (organization_id, match, request) =>
        world.read((rows) => page(Table.all(rows.contacts, organization_id).filter(matches(match)), request, position)),
      update: (organization_id, contact) =>
        world.modify((rows) => {
          const found = Table.get(rows.contacts, organization_id, contact.id)
          if (Option.isNone(found)) return [undefined, rows]
          const { identities, last_activity_at, last_activity_preview, last_conversation_id } = found.value
          const kept = { identities, last_activity_at, last_activity_preview, last_conversation_id }
          const updated_at = DateTime.max(found.value.updated_at, contact.updated_at)
          return [undefined, insert(rows, organization_id, { ...contact, ...kept, updated_at })]
        }),
      setOwner: (organization_id, id, owner_user_id, now) =>
        world.modify((rows) => {
          const found = Table.get(rows.contacts, organization_id, id)
          if (Option.isNone(found)) return [undefined, rows]
          const updated_at = DateTime.max(found.value.updated_at, now)
          return [undefined, put(rows, organization_id, { ...found.value, owner_user_id, updated_at })]
        }),
      claimIdentity: (organization_id, identity, newcomer) =>
        world.modify((rows) => {
          const key = `${identity.channel_type}|${identity.external_id}`
          const known = Table.get(rows.identities, organization_id, key)
          if (Option.isSome(known)) return [known.value, rows]
          const owner = withPhone(rows, organization_id, newcomer.primary_phone)
          const met = Option.isSome(owner) ? rows : insert(rows, organization_id, newcomer)
          const contact = Option.getOrElse(owner, () => newcomer)
          const identities = [...contact.identities, identity].toSorted(byId)
          const who = { identity_id: identity.id, contact_id: contact.id }
          return [who, {
            ...put(met, organization_id, { ...contact, identities }),
            identities: Table.set(rows.identities, organization_id, key, who)
          }]
        }),
      recordActivity: (organization_id, id, { at, conversation_id, preview }) =>
        world.modify((rows) => {
          const contact = Option.getOrThrow(Table.get(rows.contacts, organization_id, id))
          const updated_at = DateTime.max(contact.updated_at, at)
          if (contact.last_activity_at !== null && DateTime.isLessThan(at, contact.last_activity_at)) {
            return [undefined, put(rows, organization_id, { ...contact, updated_at })]
          }
          return [
            undefined,
            put(rows, organization_id, {
              ...contact,
              last_activity_at: at,
              last_activity_preview: preview,
              last_conversation_id: conversation_id,
              updated_at
            })
          ]
        })
    })
  })
)
