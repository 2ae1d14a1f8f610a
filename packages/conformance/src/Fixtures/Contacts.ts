/** Contacts and their identities. */
import { assert } from "@effect/vitest"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import {
  type Contact,
  type ContactCriteria,
  ContactRows,
  ContactStore,
  criteriaOf,
  type Identity,
  insertContact,
  newContact as contactOf,
  no_marketing_preference
} from "@messaging-crm/core/Contacts"
import { ContactId, IdentityId, type OrganizationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Effect, Option } from "effect"
import { mustCommit, noon, uuid } from "./Base.ts"

/** Filters that match every contact. */
export const everyone: ContactCriteria = criteriaOf({})

/** Lists the contacts that meet some criteria, the first 99 unless another page is given. No store stops early for a few. */
export const contacts = (
  organization_id: OrganizationId,
  criteria: Partial<ContactCriteria> = {},
  page: PageRequest = { after: null, size: 99 }
) =>
  Effect.map(
    ContactStore.use((store) => store.list(organization_id, { ...everyone, ...criteria }, page)),
    ({ rows, stopped_at }) => {
      assert.isNull(stopped_at)
      return rows
    }
  )

/** A contact that is not stored yet. */
export const newContact = Effect.map(uuid, (id) => contactOf(ContactId.make(id), { phone: null }, noon))

/** A number that no other test uses, as a phone number and as an external ID. */
export const newPhone = Effect.map(uuid, (id) => `+4${BigInt(`0x${id.replaceAll("-", "")}`) % 10_000_000_000_000n}`)

/** Creates a contact. */
export const contact = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<Contact> = {}) {
  const row: Contact = { ...yield* newContact, ...fields }
  yield* mustCommit(organization_id, insertContact(row))
  return row
})

/** Adds an identity to a contact, with its external ID and aliases as network IDs. */
export const identity = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  contact_id: ContactId,
  fields: Partial<Identity> = {},
  aliases: ReadonlyArray<string> = []
) {
  const id = IdentityId.make(yield* uuid)
  const row: Identity = {
    id,
    channel_type: "phone_messaging",
    external_id: id,
    display_name: null,
    username: null,
    ...no_marketing_preference,
    ...fields
  }
  const { channel_type } = row
  const loaded = Option.getOrThrow(yield* ContactStore.use((store) => store.load(organization_id, contact_id)))
  yield* mustCommit(
    organization_id,
    ContactRows.update(loaded, { identities: [...loaded.identities, row].toSorted((a, b) => a.id < b.id ? -1 : 1) }),
    IdentityRows.insert({ ...row, contact_id }),
    ...[row.external_id, ...aliases].map((name) =>
      IdentityNetworkIdRows.insert({ channel_type, name, identity_id: id })
    )
  )
  return row
})
