import { CallbackRows, type StoredCallback } from "@messaging-crm/core/CallbackInbox"
import { ChannelRows, types_with_phones } from "@messaging-crm/core/Channels"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { part_prefix } from "@messaging-crm/core/Idempotency"
import type { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { MessageRows } from "@messaging-crm/core/Messages"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { SendRows } from "@messaging-crm/core/Sends"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { Layer, Option } from "effect"
import { identify } from "../contacts/Contacts.ts"
import { toRow } from "../conversations/Conversations.ts"
import { long_columns } from "../messages/Messages.ts"
import { EventRows, IdempotencyRows, withoutResource } from "../work/PrivateTables.ts"
import { longPage, positionOf } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

const conversationsOf = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId) =>
  Table.all(tables, ConversationRows, owner).filter((conversation) => conversation.contact_id === contact_id)

/** Returns the IDs of the events about a contact and its conversations. */
const eventsOf = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): ReadonlySet<string> => {
  const names = [contact_id, ...conversationsOf(tables, owner, contact_id).map(({ id }) => id)]
  return new Set(
    Table.all(tables, EventRows, owner).flatMap(({ body, id }) => names.some((name) => body.includes(name)) ? [id] : [])
  )
}

/** Returns the event of a recorded delivery with the endpoint's response; undefined for another record. */
const eventIn = (record: string): string | undefined =>
  record.includes("\"response_body\":\"") ? /"event_id":"([0-9a-f-]{36})"/.exec(record)?.[1] : undefined

/** Removes the records of each request with a response that contains data of the contact. An equal request is another one. */
const eraseRecords = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): Table.Tables => {
  const events = eventsOf(tables, owner, contact_id)
  const records = Table.all(tables, IdempotencyRows, owner)
  const shown = records.filter(({ body }) => {
    const record = body ?? ""
    return record.includes(contact_id) || events.has(eventIn(record) ?? "")
  })
  const fingerprints = new Set(shown.map(({ fingerprint }) => fingerprint))
  const others = records.filter(({ body, fingerprint, key }) =>
    fingerprints.has(fingerprint) && (body === null || key.startsWith(part_prefix))
  )
  return [...shown, ...others].reduce(
    (remaining, { key }) => Table.remove(remaining, IdempotencyRows, owner, key),
    tables
  )
}

const eraseResources = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): Table.Tables =>
  Table.all(tables, EventRows, owner).filter((event) => event.contact_id === contact_id).reduce(
    (remaining, { id }) => Table.change(remaining, EventRows, owner, id, (event) => ({ ...event, ...withoutResource })),
    tables
  )

/** Erases the responses to the events that name the contact or one of its conversations. */
const eraseResponses = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): Table.Tables => {
  const events = eventsOf(tables, owner, contact_id)
  return Table.all(tables, WebhookDeliveryRows, owner).filter(({ event_id }) => events.has(event_id)).reduce(
    (remaining, { id }) =>
      Table.change(
        remaining,
        WebhookDeliveryRows,
        owner,
        id,
        (row) =>
          row.status !== "pending" && row.response_body === null
            ? row
            : { ...row, response_body: null, version: row.version + 1 }
      ),
    tables
  )
}

const eraseCopies = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): Table.Tables =>
  [eraseRecords, eraseResources, eraseResponses].reduce(
    (remaining, erase) => erase(remaining, owner, contact_id),
    tables
  )

const networkIdsOf = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId) =>
  Table.all(tables, IdentityNetworkIdRows, owner).flatMap((name) =>
    Option.toArray(
      Option.filter(
        Table.get(tables, IdentityRows, owner, name.identity_id),
        (identity) => identity.contact_id === contact_id
      )
    ).map(({ version }) => ({ ...Table.plain(name), identity_version: version }))
  )

/** Deletes the callbacks of the organization's channels that are about a contact. */
const eraseCallbacks = (
  state: WorldState,
  owner: OrganizationId,
  contact_id: ContactId,
  phones: ReadonlyArray<string>
): WorldState => {
  const { tables } = state
  const free_types = types_with_phones.filter((type) => identify(tables, owner, type, phones).length === 0)
  const names = [
    ...networkIdsOf(tables, owner, contact_id),
    ...free_types.flatMap((channel_type) => phones.map((name) => ({ channel_type, name })))
  ]
  const isErased = ({ channel_id, people }: StoredCallback) =>
    channel_id !== null &&
    Option.exists(
      Table.get(tables, ChannelRows, owner, channel_id),
      ({ type }) =>
        names.some(({ channel_type, name }) => channel_type === type && people.includes(name.replace(/^\+/, "")))
    )
  const erased = Table.all(tables, CallbackRows, owner).filter(isErased)
  return { ...state, tables: erased.reduce((left, { id }) => Table.remove(left, CallbackRows, owner, id), tables) }
}

/** Layer that exports and erases people in the in-memory world. */
export const layer = Layer.effect(
  PersonalDataStore,
  World.useSync(({ modify, read }) =>
    PersonalDataStore.of({
      networkIds: (organization_id, contact_id) =>
        read(({ tables }) => networkIdsOf(tables, organization_id, contact_id)),
      conversations: (organization_id, contact_id) =>
        read(({ tables }) => conversationsOf(tables, organization_id, contact_id).map(toRow(tables, organization_id))),
      sends: (organization_id, conversation_id, request) =>
        read(({ tables }) =>
          longPage(
            Table.all(tables, SendRows, organization_id).filter((send) => send.conversation_id === conversation_id),
            request,
            positionOf,
            ["content"]
          ).rows
        ),
      messages: (organization_id, conversation_id, request) =>
        read(({ tables }) =>
          longPage(
            Table.all(tables, MessageRows, organization_id).filter((row) => row.conversation_id === conversation_id),
            request,
            positionOf,
            long_columns
          ).rows
        ),
      eraseCopies: (organization_id, contact_id) =>
        modify((state) => [undefined, { ...state, tables: eraseCopies(state.tables, organization_id, contact_id) }]),
      eraseCallbacks: (organization_id, contact_id, phones) =>
        modify((state) => [undefined, eraseCallbacks(state, organization_id, contact_id, phones)])
    })
  )
)
