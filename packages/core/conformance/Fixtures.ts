/** Rows that others stand on, each made through its port. */
import type { Vitest } from "@effect/vitest"
import { type Channel, ChannelStore, type ChannelType } from "@messaging-crm/core/Channels"
import { type Contact, type ContactMatch, ContactStore, type Identity, introduce } from "@messaging-crm/core/Contacts"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import {
  ChannelId,
  ContactId,
  ConversationId,
  IdentityId,
  Ids,
  MemberId,
  MessageId,
  OrganizationId,
  SendId
} from "@messaging-crm/core/Ids"
import { type Member, MemberStore, type Role } from "@messaging-crm/core/Members"
import type { Message } from "@messaging-crm/core/Messages"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { queue, type SendRow } from "@messaging-crm/core/Sends"
import { foldCase } from "@messaging-crm/core/Text"
import { DateTime, Effect } from "effect"

/** `it`, with an adapter's storage and ids at hand. */
export type It = Vitest.MethodsNonLive<Crm.StoragePorts | Ids>

/** A port under test, without a layer's name in the way. */
export interface Options {
  /** Runs of each property. */
  readonly runs: number
}

/** The filters that let every contact pass. */
export const everyone: ContactMatch = {
  needles: null,
  tag_id: null,
  owner_user_id: null,
  lifecycle_stage: null,
  channel: null
}

/** Noon of a day; tests count milliseconds from it. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

/** Returns noon and some milliseconds. */
export const after = (millis: number): DateTime.Utc => DateTime.add(noon, { milliseconds: millis })

export const uuid = Ids.use((ids) => ids.uuid)

export const organization = Effect.gen(function*() {
  const id = OrganizationId.make(yield* uuid)
  yield* OrganizationStore.use((store) => store.insert({ id, name: "Acme", created_at: noon }))
  return id
})

export const member = Effect.fnUntraced(function*(organization_id: OrganizationId, role: Role = "owner") {
  const id = MemberId.make(yield* uuid)
  const row: Member = { id, name: "Ada", email: `${id}@acme.example`, role, created_at: noon }
  yield* MemberStore.use((store) => Effect.orDie(store.insert(organization_id, row, foldCase(row.email))))
  return row
})

export const channel = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  type: ChannelType = "phone_messaging"
) {
  const id = ChannelId.make(yield* uuid)
  const row: Channel = {
    id,
    type,
    name: "Support",
    address: id,
    phone_messaging_business_account_id: type === "phone_messaging" ? `account-${id}` : null,
    connected_at: noon
  }
  yield* ChannelStore.use((store) => Effect.orDie(store.insert(organization_id, row)))
  return row
})

/** A person nobody knows yet: an identity and the contact that they would become. */
export const stranger = Effect.fnUntraced(function*(external_id: string, phone: string | null = null) {
  const identity: Identity = {
    id: IdentityId.make(yield* uuid),
    channel_type: "phone_messaging",
    external_id,
    display_name: null,
    username: null
  }
  const person = { ...identity, phone }
  return { identity, newcomer: introduce(ContactId.make(yield* uuid), person, noon) }
})

export const contact = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<Contact> = {}) {
  const id = ContactId.make(yield* uuid)
  const row: Contact = { ...introduce(id, { phone: null }, noon), ...fields }
  yield* ContactStore.use((store) => store.insert(organization_id, row))
  return row
})

/** A channel, a person on it, and their conversation. */
export const thread = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const on = yield* channel(organization_id)
  const { identity, newcomer } = yield* stranger(yield* uuid)
  const who = yield* ContactStore.use((store) => store.claimIdentity(organization_id, identity, newcomer, []))
  const id = ConversationId.make(yield* uuid)
  const parts = { channel_id: on.id, ...who }
  const conversation_id = yield* ConversationStore.use((store) => store.open(organization_id, id, parts, noon))
  return { channel: on, conversation_id, ...who }
})

export const message = Effect.fnUntraced(function*(conversation_id: ConversationId, fields: Partial<Message> = {}) {
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

export const send = Effect.fnUntraced(
  function*(on: { readonly conversation_id: ConversationId; readonly channel: Channel }) {
    const row: SendRow = {
      send: queue(SendId.make(yield* uuid), on.conversation_id, noon),
      channel_id: on.channel.id,
      recipient: "+4915112345678",
      member_id: null,
      content: { type: "text", text: "Hello" },
      first_attempt_at: null
    }
    return row
  }
)
