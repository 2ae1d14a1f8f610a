/** Conversations, messages, sends, and files. */
import { CallbackRows, CallbackStore, no_organization } from "@messaging-crm/core/CallbackInbox"
import * as Changes from "@messaging-crm/core/Changes"
import { type Channel, ChannelRows } from "@messaging-crm/core/Channels"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { type Identity, insertContact, no_marketing_preference } from "@messaging-crm/core/Contacts"
import { ConversationRows, newConversation } from "@messaging-crm/core/Conversations"
import {
  type ChannelId,
  type ContactId,
  ConversationId,
  IdentityId,
  MediaId,
  MessageId,
  type OrganizationId,
  SendId
} from "@messaging-crm/core/Ids"
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { type MediaFile, MediaRows, MediaStore, slice_bytes } from "@messaging-crm/core/Media"
import { insert, type Message } from "@messaging-crm/core/Messages"
import { Rows } from "@messaging-crm/core/Rows"
import type { SendColumns } from "@messaging-crm/core/Sends"
import { Effect, Option } from "effect"
import { mustCommit, noon, uuid } from "./Base.ts"
import * as Catalog from "./Catalog.ts"
import { newContact } from "./Contacts.ts"

/** The rows of a conversation, and its IDs. */
export type Thread = Effect.Success<ReturnType<typeof thread>>

/** A channel, a person on it, and their conversation. `named` gives the person and the conversation IDs that others have too. */
export const thread = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  named: { readonly contact_id?: ContactId; readonly conversation_id?: ConversationId } = {}
) {
  const channel = yield* Catalog.channel(organization_id)
  const names = { display_name: null, username: null }
  const { type: channel_type } = channel
  const external_id = yield* uuid
  const identity: Identity = {
    id: IdentityId.make(yield* uuid),
    channel_type,
    external_id,
    ...names,
    ...no_marketing_preference
  }
  const fresh = yield* newContact
  const contact = { ...fresh, id: named.contact_id ?? fresh.id, identities: [identity] }
  const ids = { contact_id: contact.id, identity_id: identity.id }
  const conversation_id = named.conversation_id ?? ConversationId.make(yield* uuid)
  yield* mustCommit(
    organization_id,
    insertContact(contact),
    IdentityRows.insert({ ...identity, contact_id: contact.id }),
    IdentityNetworkIdRows.insert({ channel_type, name: external_id, identity_id: identity.id }),
    ConversationRows.insert(newConversation({ id: conversation_id, channel_id: channel.id, ...ids }, noon))
  )
  return { channel, conversation_id, ...ids, external_id, ...names, first_name: null, last_name: null }
})

/** A message that is not stored yet. */
export const newMessage = Effect.fnUntraced(function*(conversation_id: ConversationId, fields: Partial<Message> = {}) {
  const id = MessageId.make(yield* uuid)
  const row: Message = {
    id,
    conversation_id,
    direction: "outbound",
    type: "text",
    text: "Hello",
    sender: { type: "member", name: "Ada" },
    status: "sent",
    media: null,
    details: null,
    provider_message_id: id,
    created_at: noon,
    sent_at: noon,
    delivered_at: null,
    read_at: null,
    failed_at: null,
    edited_at: null,
    deleted_at: null,
    ...fields
  }
  return row
})

/** Returns the changes that insert a message without status updates. */
export const insertMessage = (
  { channel, contact_id }: Pick<Thread, "channel" | "contact_id">,
  row: Message
) => insert(channel.id, contact_id, Option.none(), row)

/** Creates a message of a thread. */
export const message = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  on: Thread,
  fields: Partial<Message> = {}
) {
  const row = yield* newMessage(on.conversation_id, fields)
  yield* mustCommit(organization_id, insertMessage(on, row))
  return row
})

/** A message from a person as the provider reports it: a text, unless the fields say otherwise. */
export const messageReceived = (
  fields:
    & Omit<ProviderMessageReceived, "event" | "media" | "text" | "type">
    & Partial<ProviderMessageReceived>
): ProviderMessageReceived => ({ event: "message_received", type: "text", text: "Hi", media: null, ...fields })

/** A send that is not stored yet. */
export const newSend = Effect.fnUntraced(
  function*(thread: { readonly conversation_id: ConversationId; readonly channel: Channel }) {
    const row: SendColumns = {
      id: SendId.make(yield* uuid),
      conversation_id: thread.conversation_id,
      status: "queued",
      message_id: null,
      failure_reason: null,
      created_at: noon,
      channel_id: thread.channel.id,
      recipient: "+4915112345678",
      member_id: null,
      content: { type: "text", text: "Hello" },
      first_attempt_at: null,
      may_be_sent: false
    }
    return row
  }
)

/** Stores a file. */
export const file = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  fields: Partial<Omit<MediaFile, "byte_size">> = {},
  bytes: Uint8Array = Uint8Array.of(1, 2, 3)
) {
  const store = yield* MediaStore
  const id = MediaId.make(yield* uuid)
  const row: MediaFile = { id, mime_type: "image/png", filename: null, ...fields, byte_size: bytes.byteLength }
  yield* store.begin(organization_id, row.id, noon)
  for (let start = 0; start < bytes.byteLength; start += slice_bytes) {
    yield* store.append(organization_id, row.id, { start, bytes: bytes.subarray(start, start + slice_bytes) })
  }
  yield* mustCommit(organization_id, MediaRows.insert(row))
  return row
})

/** Stores the body of a callback from some people to a channel, and returns its id. */
export const callback = Effect.fnUntraced(function*(
  channel_id: ChannelId | null,
  people: ReadonlyArray<string>,
  body = Uint8Array.of(1)
) {
  const id = yield* uuid
  const located = channel_id === null
    ? Option.none()
    : yield* Rows.use((rows) => rows.locate(ChannelRows, channel_id))
  const lane = Option.match(located, {
    onNone: () => no_organization,
    onSome: ({ organization_id }) => organization_id
  })
  yield* mustCommit(
    lane,
    CallbackRows.insert({ id, source: "app", channel_id, people, body, received_at: noon }),
    Changes.enqueue({ kind: "callback", lane, ref: id, due_at: noon })
  )
  return id
})

/** Returns which of some callbacks are stored. */
export const areCallbacksStored = Effect.fnUntraced(function*(ids: ReadonlyArray<string>) {
  const claim = { attempt: 1, defects: 0, lane_cap: 1, token: yield* uuid, trace: null }
  const claimed = ids.map((ref) => ({
    ...claim,
    ref,
    kind: "callback" as const,
    lane: no_organization,
    organization_id: no_organization
  }))
  const loaded = yield* CallbackStore.use((store) => store.load(claimed, { now: noon, ordered_since: noon }))
  return loaded.map(Option.isSome)
})
