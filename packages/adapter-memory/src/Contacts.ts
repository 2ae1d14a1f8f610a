import { type Contact, ContactStore, type Identity } from "@messaging-crm/core/Contacts"
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

const insert = (rows: Rows, organization_id: OrganizationId, contact: Contact): Rows => {
  const inserted = put(rows, organization_id, contact)
  const phone = contact.primary_phone
  if (phone === null) return inserted
  const others = Option.getOrElse(Table.get(rows.contact_phones, organization_id, phone), () => [])
  return {
    ...inserted,
    contact_phones: Table.set(rows.contact_phones, organization_id, phone, [...others, contact.id])
  }
}

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
      find: (organization_id, id) => world.read((rows) => Table.get(rows.contacts, organization_id, id)),
      list: (organization_id, request) =>
        world.read((rows) => page(Table.all(rows.contacts, organization_id), request, position)),
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
