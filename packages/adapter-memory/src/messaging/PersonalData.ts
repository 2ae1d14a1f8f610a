import { ChannelRows } from "@messaging-crm/core/Channels"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { type ConversationColumns, ConversationRows } from "@messaging-crm/core/Conversations"
import type { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import { type MessageColumns, MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { type SendColumns, SendRows } from "@messaging-crm/core/Sends"
import { erased } from "@messaging-crm/core/Text"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { HashMap, Layer, Option } from "effect"
import { EventRows } from "../work/EventRows.ts"
import { IdempotencyRows } from "../work/Idempotency.ts"
import * as Table from "../world/Table.ts"
import { type CallbackRow, type Rows, World } from "../world/World.ts"
import { toRow } from "./Conversations.ts"

const decoder = new TextDecoder()

const threadsOf = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId) =>
  Table.all(tables, ConversationRows, owner).filter((thread) => thread.contact_id === contact_id)

const isErased = ({ details, direction, media, provider_message_id, sender, text }: MessageColumns): boolean =>
  text === erased && media === null && details === null && provider_message_id === null &&
  (direction === "outbound" || sender.name === null)

/** Erases a message, and deletes its file and the row of its provider id. */
const eraseMessage = (owner: OrganizationId) => (tables: Table.Tables, message: Table.Row<MessageColumns>) => {
  const { channel_id, conversation_id, direction, id, media, provider_message_id, sender, version } = message
  const withoutFile = media?.id ? Table.remove(tables, MediaRows, owner, media.id) : tables
  const withoutId = provider_message_id === null
    ? withoutFile
    : Table.remove(withoutFile, ProviderMessageRows, owner, channel_id, provider_message_id)
  return Table.change(withoutId, MessageRows, owner, `${conversation_id}|${id}`, (row) => ({
    ...row,
    text: erased,
    media: null,
    details: null,
    provider_message_id: null,
    sender: direction === "inbound" ? { ...sender, name: null } : sender,
    version: version + 1
  }))
}

const eraseSend = (send: Table.Row<SendColumns>): Table.Row<SendColumns> => ({
  ...send,
  content: { type: "text", text: erased },
  recipient: erased,
  ...(send.status === "sent"
    ? {}
    : { status: "failed", failure_reason: send.failure_reason ?? "recipient_opted_out" }),
  version: send.version + 1
})

const eraseThread = (thread: Table.Row<ConversationColumns>): Table.Row<ConversationColumns> => ({
  ...thread,
  last_activity_preview: thread.last_activity_preview === null ? null : erased,
  close_category: null,
  last_inbound_at: null,
  version: thread.version + 1
})

const eraseRest = (tables: Table.Tables, owner: OrganizationId, contact_id: ContactId): Table.Tables => {
  const threads = threadsOf(tables, owner, contact_id)
  const ids = new Set<string>(threads.map(({ id }) => id))
  const mentions = (body: string) => threads.some(({ id }) => body.includes(id))
  const events = new Set(Table.all(tables, EventRows, owner).flatMap(({ body, id }) => mentions(body) ? [id] : []))
  const sends = Table.all(tables, SendRows, owner)
    .filter(({ conversation_id, recipient }) => ids.has(conversation_id) && recipient !== erased)
  const open = threads.filter(({ close_category, last_activity_preview, last_inbound_at }) =>
    (last_activity_preview ?? erased) !== erased || close_category !== null || last_inbound_at !== null
  )
  const answers = Table.all(tables, IdempotencyRows, owner)
    .filter(({ body }) => body !== null && decoder.decode(body).includes(contact_id))
  const deliveries = Table.all(tables, WebhookDeliveryRows, owner).filter(({ event_id }) => events.has(event_id))
  let left = tables
  for (const { id } of sends) left = Table.change(left, SendRows, owner, id, eraseSend)
  for (const { id } of open) left = Table.change(left, ConversationRows, owner, id, eraseThread)
  for (const { key } of answers) left = Table.remove(left, IdempotencyRows, owner, key)
  for (const { id } of deliveries) {
    left = Table.change(left, WebhookDeliveryRows, owner, id, (row) => ({ ...row, response_body: null }))
  }
  return Table.change(left, ContactRows, owner, contact_id, (row) => ({
    ...row,
    last_activity_preview: row.last_activity_preview === null ? null : erased
  }))
}

const withTables = (rows: Rows, tables: Table.Tables): Rows => ({ ...rows, tables })

/** Layer that exports and erases people in the in-memory world. */
export const layer = Layer.effect(
  PersonalDataStore,
  World.useSync(({ modify, read }) =>
    PersonalDataStore.of({
      names: (organization_id, contact_id) =>
        read(({ tables }) =>
          Table.all(tables, IdentityNetworkIdRows, organization_id).flatMap((name) =>
            Option.toArray(
              Option.filter(
                Table.get(tables, IdentityRows, organization_id, name.identity_id),
                (identity) => identity.contact_id === contact_id
              )
            ).map(({ version }) => ({ ...Table.plain(name), identity_version: version }))
          )
        ),
      conversations: (organization_id, contact_id) =>
        read(({ tables }) => threadsOf(tables, organization_id, contact_id).map(toRow(tables, organization_id))),
      sends: (organization_id, conversation_id) =>
        read(({ tables }) =>
          Table.all(tables, SendRows, organization_id).filter((send) => send.conversation_id === conversation_id)
        ),
      eraseMessages: (organization_id, contact_id, limit) =>
        modify((rows) => {
          const ids = new Set<string>(threadsOf(rows.tables, organization_id, contact_id).map(({ id }) => id))
          const found = Table.all(rows.tables, MessageRows, organization_id)
            .filter((message) => ids.has(message.conversation_id) && !isErased(message))
            .slice(0, limit)
          return [found.length, withTables(rows, found.reduce(eraseMessage(organization_id), rows.tables))]
        }),
      eraseRest: (organization_id, contact_id) =>
        modify((rows) => [undefined, withTables(rows, eraseRest(rows.tables, organization_id, contact_id))]),
      eraseCallbacks: (organization_id, people) =>
        modify((rows) => {
          const isErased = (callback: CallbackRow) =>
            callback.channel_id !== null &&
            Option.isSome(Table.get(rows.tables, ChannelRows, organization_id, callback.channel_id)) &&
            callback.people.some((person) => people.includes(person))
          return [undefined, { ...rows, callbacks: HashMap.filter(rows.callbacks, (callback) => !isErased(callback)) }]
        })
    })
  )
)
