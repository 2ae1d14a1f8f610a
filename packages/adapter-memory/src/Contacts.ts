import type { ChannelType } from "@messaging-crm/core/Channels"
import {
  type Contact,
  type ContactMatch,
  ContactStore,
  type Identity,
  searchText,
  type Who
} from "@messaging-crm/core/Contacts"
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

const key = (channel_type: ChannelType, name: string): string => `${channel_type}|${name}`

/** Returns whom the first of the names that is known leads to. */
const lookUp = (
  rows: Rows,
  organization_id: OrganizationId,
  channel_type: ChannelType,
  names: ReadonlyArray<string>
): Option.Option<Who> =>
  Option.firstSomeOf(names.map((name) => Table.get(rows.identities, organization_id, key(channel_type, name))))

/** Makes names lead to somebody, except those that lead to somebody already. */
const addNames = (
  rows: Rows,
  organization_id: OrganizationId,
  channel_type: ChannelType,
  names: ReadonlyArray<string>,
  who: Who
): Rows => ({
  ...rows,
  identities: names.map((name) => key(channel_type, name)).reduce(
    (named, name) => Table.has(named, organization_id, name) ? named : Table.set(named, organization_id, name, who),
    rows.identities
  )
})

const changeIdentity = (
  rows: Rows,
  organization_id: OrganizationId,
  { contact_id, identity_id }: Who,
  change: (identity: Identity) => Identity
): Rows => {
  const contact = Option.getOrThrow(Table.get(rows.contacts, organization_id, contact_id))
  const identities = contact.identities.map((identity) => identity.id === identity_id ? change(identity) : identity)
  return put(rows, organization_id, { ...contact, identities })
}

/** The names of somebody that are given. */
const given = ({ display_name, username }: Pick<Identity, "display_name" | "username">): Partial<Identity> => ({
  ...(display_name === null ? {} : { display_name }),
  ...(username === null ? {} : { username })
})

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
      claimIdentity: (organization_id, identity, newcomer, aliases) =>
        world.modify((rows) => {
          const names = [identity.external_id, ...aliases]
          const known = lookUp(rows, organization_id, identity.channel_type, names)
          if (Option.isSome(known)) {
            const who = known.value
            const named = addNames(rows, organization_id, identity.channel_type, names, who)
            return [who, changeIdentity(named, organization_id, who, (held) => ({ ...held, ...given(identity) }))]
          }
          const owner = withPhone(rows, organization_id, newcomer.primary_phone)
          const met = Option.isSome(owner) ? rows : insert(rows, organization_id, newcomer)
          const contact = Option.getOrElse(owner, () => newcomer)
          const identities = [...contact.identities, identity].toSorted(byId)
          const who = { identity_id: identity.id, contact_id: contact.id }
          const introduced = put(met, organization_id, { ...contact, identities })
          return [who, addNames(introduced, organization_id, identity.channel_type, names, who)]
        }),
      addAliases: (organization_id, channel_type, who, aliases) =>
        world.modify((rows) => [undefined, addNames(rows, organization_id, channel_type, aliases, who)]),
      renameIdentity: (organization_id, { channel_type, external_id: former }, now) =>
        world.modify((rows) => {
          const known = lookUp(rows, organization_id, channel_type, [former])
          const taken = lookUp(rows, organization_id, channel_type, [now.external_id])
          if (Option.isNone(known)) return [Option.none(), rows]
          const who = known.value
          if (Option.isSome(taken) && taken.value.identity_id !== who.identity_id) return [Option.none(), rows]
          const freed = {
            ...rows,
            identities: Table.remove(rows.identities, organization_id, key(channel_type, former))
          }
          const named = addNames(freed, organization_id, channel_type, [now.external_id], who)
          const renamed = changeIdentity(named, organization_id, who, (held) => ({
            ...held,
            ...given(now),
            external_id: held.external_id === former ? now.external_id : held.external_id
          }))
          return [Option.some(who.contact_id), renamed]
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
        }),
      replacePreview: (organization_id, id, at, last_activity_preview) =>
        world.modify((rows) => {
          const contact = Option.filter(
            Table.get(rows.contacts, organization_id, id),
            ({ last_activity_at }) => last_activity_at !== null && DateTime.Equivalence(last_activity_at, at)
          )
          if (Option.isNone(contact)) return [undefined, rows]
          return [undefined, put(rows, organization_id, { ...contact.value, last_activity_preview })]
        })
    })
  })
)
