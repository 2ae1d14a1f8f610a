import type { AuditRecord } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelType, networkOf } from "@messaging-crm/core/Channels"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import {
  type Contact,
  type ContactColumns,
  type ContactCriteria,
  ContactRows,
  ContactStore,
  insertContact,
  type KnownIdentity,
  type LoadedContact,
  positionOf
} from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { DateTime, Layer, Option, Result, Struct } from "effect"
import { apply } from "../work/Commit.ts"
import { AuditRows } from "../work/PrivateTables.ts"
import { longPage, page } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

type Row = Table.Row<ContactColumns>

const toLoaded = (row: Row): LoadedContact => Struct.omit(row, ["email_key", "search_text"])

const toContact = (row: Row): Contact => Struct.omit(row, ["email_key", "search_text", "version"])

const isOn = (contact: ContactColumns, channel: ChannelType): boolean =>
  contact.identities.some(({ channel_type }) => channel_type === channel) ||
  (networkOf(channel).has_phones && contact.primary_phone !== null)

const matches = (tables: Table.Tables, organization_id: OrganizationId, match: ContactCriteria) => {
  const {
    channel,
    email_key,
    external_id,
    lifecycle_stage,
    owner_user_id,
    phones,
    search_terms,
    tag_id,
    updated_since
  } = match
  const types = channel === null ? ChannelType.literals : [channel]
  const contact_ids = external_id === null
    ? null
    : types.flatMap((type) => identify(tables, organization_id, type, [external_id]).map(({ contact }) => contact.id))
  return (contact: ContactColumns) =>
    (phones === null || phones.some((phone) => contact.primary_phone === phone)) &&
    (email_key === null || contact.email_key === email_key) &&
    (contact_ids === null || contact_ids.includes(contact.id)) &&
    (updated_since === null || DateTime.isGreaterThanOrEqualTo(contact.updated_at, updated_since)) &&
    (tag_id === null || contact.tags.some(({ id }) => id === tag_id)) &&
    (owner_user_id === null || contact.owner_user_id === owner_user_id) &&
    (lifecycle_stage === null || contact.lifecycle_stage === lifecycle_stage) &&
    (channel === null || isOn(contact, channel)) &&
    (search_terms === null || search_terms.some((term: string) => contact.search_text.includes(term)))
}

/** Looks network IDs up on a type of channel, and returns their identities in the order of the IDs. */
export const identify = (
  tables: Table.Tables,
  organization_id: OrganizationId,
  channel_type: ChannelType,
  network_ids: ReadonlyArray<string>
): ReadonlyArray<KnownIdentity> =>
  network_ids.flatMap((network_id) =>
    Option.toArray(Option.gen(function*() {
      const { identity_id } = yield* Table.get(tables, IdentityNetworkIdRows, organization_id, channel_type, network_id)
      const identity = yield* Table.get(tables, IdentityRows, organization_id, identity_id)
      const contact = yield* Table.get(tables, ContactRows, organization_id, identity.contact_id)
      return {
        network_id,
        identity,
        contact: Struct.pick(contact, ["first_name", "id", "identities", "last_name", "version"])
      }
    }))
  )

/** Layer that keeps contacts and their identities in the in-memory world. */
export const layer = Layer.effect(
  ContactStore,
  World.useSync(({ modify, read }) =>
    ContactStore.of({
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, ContactRows, organization_id, id), toContact)),
      load: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, ContactRows, organization_id, id), toLoaded)),
      list: (organization_id, match, request) =>
        read(({ tables }) =>
          longPage(
            Table.all(tables, ContactRows, organization_id).filter(matches(tables, organization_id, match)).map(
              toContact
            ),
            request,
            positionOf,
            ["custom_values", "notes"]
          )
        ),
      identify: (organization_id, channel_type, network_ids) =>
        read(({ tables }) => identify(tables, organization_id, channel_type, network_ids)),
      match: (organization_id, by, values) =>
        read(({ tables }) => {
          const contacts = Table.all(tables, ContactRows, organization_id)
          const byValue = values.map((value) => contacts.filter((contact) => contact[by] === value))
          const candidates = byValue.find(({ length }) => length > 0) ?? []
          const [first, second] = page(candidates, { after: null, size: 2 }, positionOf)
          return Option.map(
            Option.fromUndefinedOr(first),
            (row) => ({ ...toLoaded(row), is_ambiguous: second !== undefined })
          )
        }),
      knownPeople: (organization_id, people) =>
        read(({ tables }) => {
          const contacts = Table.all(tables, ContactRows, organization_id)
          return people.map(({ email_key, id, phones }) => {
            const isOther = (contact: ContactColumns) => contact.id !== id
            return {
              has_id: id !== null && Table.has(tables, ContactRows, organization_id, id),
              has_phone: contacts.some((contact) =>
                isOther(contact) && contact.primary_phone !== null && phones.includes(contact.primary_phone)
              ),
              has_email: email_key !== null &&
                contacts.some((contact) => isOther(contact) && contact.email_key === email_key)
            }
          })
        }),
      insertNew: (organization_id, contacts, records) =>
        modify((state) => {
          const absent = contacts.filter(({ id }) => !Table.has(state.tables, ContactRows, organization_id, id))
          const isInserted = ({ resource_id }: AuditRecord) => absent.some(({ id }) => id === resource_id)
          const changes = Changes.all(
            ...absent.map(insertContact),
            ...records.filter(isInserted).map((record) => AuditRows.insert(record))
          )
          return [absent.map(({ id }) => id), Result.getOrThrow(apply(state, organization_id, changes, null))]
        })
    })
  )
)
