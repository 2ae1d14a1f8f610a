/** Rows that tests need before they begin, each written by a commit. */
import { assert, type Vitest } from "@effect/vitest"
import { type AuditRecord, make } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"
import { type Channel, ChannelRows, type ChannelType } from "@messaging-crm/core/Channels"
import { Commit } from "@messaging-crm/core/Commit"
import { findOrCreateByIdentity, IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { unmatched } from "@messaging-crm/core/ContactMatches"
import {
  type Contact,
  type ContactCriteria,
  ContactRows,
  ContactStore,
  criteriaOf,
  type Identity,
  insert as insertContact,
  newContact
} from "@messaging-crm/core/Contacts"
import { open } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import type { DecisionContext } from "@messaging-crm/core/Decide"
import {
  type AnyEventType,
  EventStore,
  type EventType,
  type ListedEvent,
  type StoredEvent
} from "@messaging-crm/core/Events"
import {
  ChannelId,
  ContactId,
  type ConversationId,
  EventId,
  IdentityId,
  Ids,
  MediaId,
  MemberId,
  MessageId,
  OrganizationId,
  SendId,
  TagId,
  WebhookId
} from "@messaging-crm/core/Ids"
import { type MediaFile, MediaRows, MediaStore, slice_bytes } from "@messaging-crm/core/Media"
import { type Member, MemberRows, type Role, toColumns } from "@messaging-crm/core/Members"
import type { Message } from "@messaging-crm/core/Messages"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import type { SendColumns } from "@messaging-crm/core/Sends"
import { type Tag, TagRows } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
import type { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { healthy, type WebhookColumns, WebhookRows } from "@messaging-crm/core/Webhooks"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Option } from "effect"

/** `it`, with an adapter's storage and ids as services. */
export type It = Vitest.MethodsNonLive<Crm.StoragePorts | Ids>

/** How thoroughly a suite tests. */
export interface Options {
  /** How many runs each property has. */
  readonly runs: number
}

/** Filters that match every contact. */
export const everyone: ContactCriteria = criteriaOf({})

/** The lowest id. */
export const nil = "00000000-0000-0000-0000-000000000000"

/** Noon of a fixed day. Times in tests are milliseconds after it. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

/** Returns the moment that is `millis` milliseconds after noon. */
export const after = (millis: number): DateTime.Utc => DateTime.add(noon, { milliseconds: millis })

/** A new ID. */
export const uuid = Ids.use((ids) => ids.uuid)

/** The context of a decision that is made at noon. */
export const context = Ids.useSync(({ next }): DecisionContext => ({ now: noon, uuid: next }))

/** Commits changes as an operation does. */
export const commit = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Commit.use((port) => port.commit(organization_id, Changes.folded(Changes.all(...changes))))

/** Commits changes that the store must accept. */
export const write = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Effect.orDie(commit(organization_id, ...changes))

/** Commits changes, and returns `committed` or the tag of the rejection. */
export const outcome = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Effect.match(commit(organization_id, ...changes), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: () => "committed" as const
  })

/** Settles a claimed item, and returns whether the claim still held it. */
export const settle = (settlement: Changes.Settlement) =>
  Effect.map(outcome(settlement.claimed.organization_id, Changes.settle(settlement)), (tag) => tag === "committed")

/** Each settles a claimed item, and returns whether the claim still held it. */
export const finish = (claimed: ClaimedWork) => settle({ claimed, outcome: "finish" })
export const postpone = (claimed: ClaimedWork, due_at: DateTime.Utc) => settle({ claimed, outcome: "postpone", due_at })
export const release = (claimed: ClaimedWork) => settle({ claimed, outcome: "release" })

/** An audit record about a resource, which is not stored yet. */
export const record = Effect.fnUntraced(function*(resource_id: string, fields: Partial<AuditRecord> = {}) {
  const made = make("contacts.create", resource_id, { member_id: null }, null, yield* context)
  return { ...made, ...fields }
})

/** A new organization and its owner. */
export const founded = Effect.gen(function*() {
  const organization_id = OrganizationId.make(yield* uuid)
  const owner: Member = {
    id: MemberId.make(yield* uuid),
    name: "Grace",
    email: `owner@${organization_id}.example`,
    role: "owner",
    created_at: noon
  }
  yield* OrganizationStore.use((store) =>
    Effect.flatMap(
      record(organization_id, { operation: "organizations.create" }),
      (made) => store.insert({ id: organization_id, name: "Acme", created_at: noon }, toColumns(owner), made)
    )
  )
  return { organization_id, owner }
})

/** The ID of a new organization. */
export const organization = Effect.map(founded, ({ organization_id }) => organization_id)

/** Adds a member. */
export const member = Effect.fnUntraced(function*(organization_id: OrganizationId, role: Role = "owner") {
  const id = MemberId.make(yield* uuid)
  const row: Member = { id, name: "Ada", email: `${id}@acme.example`, role, created_at: noon }
  yield* write(organization_id, MemberRows.insert(toColumns(row)))
  return row
})

/** Creates a tag. */
export const tag = Effect.fnUntraced(function*(organization_id: OrganizationId, name: string) {
  const row: Tag = { id: TagId.make(yield* uuid), name, color: "red" }
  yield* write(organization_id, TagRows.insert({ ...row, name_key: foldCase(name) }))
  return row
})

/** Inserts the given number of tags in one commit: `tag 0` and so on. Creating them one by one would list the previous ones each time. */
export const tags = Effect.fnUntraced(function*(organization_id: OrganizationId, count: number) {
  const ids = yield* Effect.replicateEffect(uuid, count)
  const tagOf = (id: string, index: number) =>
    TagRows.insert({ id: TagId.make(id), name: `tag ${index}`, name_key: `tag ${index}`, color: "red" })
  yield* write(organization_id, ...ids.map(tagOf))
})

/** Connects a channel. */
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
  yield* write(organization_id, ChannelRows.insert(row))
  return row
})

/** A contact that is not stored yet. */
export const unsavedContact = Effect.map(uuid, (id) => newContact(ContactId.make(id), { phone: null }, noon))

/** Creates a contact. */
export const contact = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<Contact> = {}) {
  const row: Contact = { ...yield* unsavedContact, ...fields }
  yield* write(organization_id, insertContact(row))
  return row
})

/** One more identity of a contact, with the contact's name and aliases. */
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
    ...fields
  }
  const { channel_type } = row
  const loaded = Option.getOrThrow(yield* ContactStore.use((store) => store.load(organization_id, contact_id)))
  yield* write(
    organization_id,
    ContactRows.update(loaded, { identities: [...loaded.identities, row].toSorted((a, b) => a.id < b.id ? -1 : 1) }),
    IdentityRows.insert({ ...row, contact_id }),
    ...[row.external_id, ...aliases].map((name) =>
      IdentityNetworkIdRows.insert({ channel_type, name, identity_id: id })
    )
  )
  return row
})

/** A channel, a person on it, and their conversation. */
export const thread = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const on = yield* channel(organization_id)
  const person = {
    channel_type: on.type,
    external_id: yield* uuid,
    aliases: [],
    phone: null,
    display_name: null,
    username: null
  }
  const who = findOrCreateByIdentity(person, [], unmatched, yield* context)
  const conversation = open(on, who.result, undefined, yield* context)
  yield* write(organization_id, who.changes, conversation.changes)
  return { channel: on, conversation_id: conversation.result, ...who.result }
})

/** A message that is not stored yet. */
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

/** A send that is not stored yet. */
export const send = Effect.fnUntraced(
  function*(on: { readonly conversation_id: ConversationId; readonly channel: Channel }) {
    const row: SendColumns = {
      id: SendId.make(yield* uuid),
      conversation_id: on.conversation_id,
      status: "queued",
      message_id: null,
      failure_reason: null,
      created_at: noon,
      channel_id: on.channel.id,
      recipient: "+4915112345678",
      member_id: null,
      content: { type: "text", text: "Hello" },
      first_attempt_at: null,
      may_be_sent: false
    }
    return row
  }
)

/** An active webhook. */
export const webhook = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  fields: Partial<WebhookColumns> = {}
) {
  const row: WebhookColumns = {
    id: WebhookId.make(yield* uuid),
    url: "https://shop.example/crm",
    event_types: ["message.sent", "send.failed"],
    include_resource: false,
    status: "active",
    created_at: noon,
    disabled_at: null,
    sealed_secret: "v1.old.secret",
    ...healthy,
    ...fields
  }
  yield* write(organization_id, WebhookRows.insert(row))
  return row
})

/** An event that is not stored yet. */
export const event = Effect.fnUntraced(function*(fields: Partial<Changes.RaisedEvent> = {}) {
  const row: Changes.RaisedEvent = {
    id: EventId.make(yield* uuid),
    type: "message.sent",
    body: `{"data":{"message_id":"1"}}`,
    created_at: noon,
    resource: null,
    ...fields
  }
  return row
})

/** Returns an event as the list contains it. */
export const listed = ({ resource: _, ...event }: Changes.RaisedEvent): ListedEvent => event

/** Returns an event as it is stored. */
export const stored = (event: Changes.RaisedEvent, isAsked = false): StoredEvent => ({
  ...listed(event),
  full_body: isAsked ? Changes.fullBodyOf(event) : null
})

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
  yield* write(organization_id, MediaRows.insert(row))
  return row
})

/** The delivery to a webhook that the commit of an event makes. */
export const deliveryOf = (
  { created_at, id: event_id }: Changes.RaisedEvent,
  { id: webhook_id }: Pick<WebhookColumns, "id">,
  event_type: EventType = "message.sent"
): WebhookDelivery => ({
  id: Changes.deliveryIdOf(event_id, webhook_id),
  webhook_id,
  event_id,
  event_type,
  status: "pending",
  attempt_count: 0,
  response_status: null,
  response_body: null,
  failure_code: null,
  duration_ms: null,
  last_attempt_at: null,
  next_attempt_at: created_at,
  created_at
})

/** Raises an event, and returns the delivery to the webhook that a read must return. */
export const raised = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  to: Pick<WebhookColumns, "id">,
  millis = 0
) {
  const row = yield* event({ created_at: after(millis) })
  yield* write(organization_id, Changes.raise(row))
  return deliveryOf(row, to)
})

/** Removes the events of other tests that were raised before a time. */
export const withoutEvents = Effect.fnUntraced(function*(before: DateTime.Utc) {
  const store = yield* EventStore
  while ((yield* store.purge(before, 1000)) > 0) continue
  return store
})

/** Returns the stored events of a type, the oldest first. */
export const storedEvents = (organization_id: OrganizationId, type: AnyEventType) =>
  EventStore.use((store) =>
    store.next(
      organization_id,
      { types: [type], until: DateTime.makeUnsafe("9999-12-31T00:00:00.000Z") },
      { after: { at: DateTime.makeUnsafe(0), id: nil }, size: 100 }
    )
  )

/** Returns the secrets of a store that do not begin with a prefix, read in pages of a size: ordered by id, each once. */
export const sealedOtherwise = Effect.fnUntraced(function*<Id extends string, Row extends { readonly id: Id }>(
  store: {
    readonly sealedOtherwise: (prefix: string, after: Id | null, limit: number) => Effect.Effect<ReadonlyArray<Row>>
  },
  prefix: string,
  size: number
) {
  const found: Array<Row> = []
  for (;;) {
    const page = yield* store.sealedOtherwise(prefix, found.at(-1)?.id ?? null, size)
    assert.isAtMost(page.length, size)
    if (page.length === 0) break
    found.push(...page)
  }
  const ids = found.map(({ id }) => id)
  assert.deepStrictEqual(ids, Array.from(new Set(ids)).toSorted())
  return found
})
