import { type Context, Layer } from "effect"
import { ApiKeys, type ApiKeyStore } from "./accounts/ApiKeys.ts"
import { Members } from "./accounts/Members.ts"
import { MemberSessions } from "./accounts/MemberSessions.ts"
import { Organizations, type OrganizationStore } from "./accounts/Organizations.ts"
import { ChannelAccounts, type ChannelAccountStore } from "./catalog/ChannelAccounts.ts"
import { ChannelHolds, type ChannelHoldStore } from "./catalog/ChannelHolds.ts"
import { Channels } from "./catalog/Channels.ts"
import { ContactFields } from "./catalog/ContactFields.ts"
import { Tags } from "./catalog/Tags.ts"
import { ContactImports } from "./contacts/ContactImports.ts"
import { Contacts, type ContactStore } from "./contacts/Contacts.ts"
import { ContactUpserts } from "./contacts/ContactUpserts.ts"
import { Conversations, type ConversationStore } from "./conversations/Conversations.ts"
import { WebhookPosts } from "./deliveries/WebhookAttempt.ts"
import { WebhookDeliveries, type WebhookDeliveryStore } from "./deliveries/WebhookDeliveries.ts"
import { WebhookDispatch } from "./deliveries/WebhookDispatch.ts"
import { EventFollowers } from "./events/EventFollowers.ts"
import { Events, type EventStore } from "./events/Events.ts"
import { CallbackInbox, type CallbackStore } from "./inbound/CallbackInbox.ts"
import { Inbound } from "./inbound/Inbound.ts"
import { Ids } from "./kernel/Ids.ts"
import { Cursors } from "./kernel/Page.ts"
import { Secrets } from "./kernel/Secrets.ts"
import { Media, type MediaStore } from "./messages/Media.ts"
import { MessageRetention, type MessageRetentionStore } from "./messages/MessageRetention.ts"
import { Messages, type MessageStore } from "./messages/Messages.ts"
import { PersonalData, type PersonalDataStore } from "./privacy/PersonalData.ts"
import { WebhookReplays } from "./replays/WebhookReplays.ts"
import { Dispatch } from "./sends/Dispatch.ts"
import type { MessagingProvider } from "./sends/MessagingProvider.ts"
import { Sends, type SendStore } from "./sends/Sends.ts"
import { Templates } from "./sends/Templates.ts"
import { Webhooks, type WebhookStore } from "./webhooks/Webhooks.ts"
import type { WebhookTransport } from "./webhooks/WebhookTransport.ts"
import { Audit, type AuditStore } from "./work/Audit.ts"
import type { Commit } from "./work/Commit.ts"
import { Decide } from "./work/Decide.ts"
import { Idempotency, type IdempotencyStore } from "./work/Idempotency.ts"
import { IdempotentParts } from "./work/IdempotentParts.ts"
import type { Rows } from "./work/Rows.ts"
import { SecretCanary, type SecretCanaryStore } from "./work/SecretCanary.ts"
import { StorageUse, type StorageUseStore } from "./work/StorageUse.ts"
import { type WorkQueue, WorkSignal } from "./work/WorkQueue.ts"
import { Worker } from "./Worker.ts"

/** Every port that a storage adapter must provide. A port added here does not compile until every adapter has it. */
export type StoragePorts =
  | ApiKeyStore
  | AuditStore
  | CallbackStore
  | ChannelAccountStore
  | ChannelHoldStore
  | Commit
  | ContactStore
  | ConversationStore
  | EventStore
  | IdempotencyStore
  | MediaStore
  | MessageRetentionStore
  | MessageStore
  | OrganizationStore
  | PersonalDataStore
  | Rows
  | SecretCanaryStore
  | SendStore
  | StorageUseStore
  | WebhookDeliveryStore
  | WebhookStore
  | WorkQueue

/** The services whose operations make up the CRM. */
export const services = [
  ApiKeys,
  Audit,
  CallbackInbox,
  ChannelAccounts,
  ChannelHolds,
  Channels,
  ContactFields,
  ContactImports,
  Contacts,
  ContactUpserts,
  Conversations,
  EventFollowers,
  Events,
  Idempotency,
  IdempotentParts,
  Inbound,
  Media,
  Members,
  MemberSessions,
  MessageRetention,
  Messages,
  Organizations,
  PersonalData,
  SecretCanary,
  Sends,
  Tags,
  Templates,
  WebhookDeliveries,
  WebhookDispatch,
  WebhookReplays,
  Webhooks,
  Worker
] as const

/** Every service of the CRM. */
export type Services = Context.Service.Identifier<typeof services[number]>

/** The services that all operations share. */
const foundation = Layer.mergeAll(Cursors.layer, Decide.layer).pipe(
  Layer.provideMerge(WorkSignal.layer),
  Layer.provideMerge(Layer.mergeAll(Ids.layer, Secrets.layer, StorageUse.layer))
)

/** Layer with the channel accounts only. The provider, which is built first, needs it. */
export const channelAccounts: Layer.Layer<ChannelAccounts, never, StoragePorts> = ChannelAccounts.layer.pipe(
  Layer.provide(foundation)
)

/** The services that require only the foundation. */
const independent = Layer.mergeAll(
  Audit.layer,
  ChannelAccounts.layer,
  ChannelHolds.layer,
  Channels.layer,
  ContactFields.layer,
  EventFollowers.layer,
  Events.layer,
  Members.layer,
  MemberSessions.layer,
  MessageRetention.layer,
  Organizations.layer,
  SecretCanary.layer,
  Tags.layer,
  Templates.layer,
  WebhookDeliveries.layer,
  Webhooks.layer
)

const contactsAndConversations = Layer.mergeAll(
  Conversations.layer,
  Messages.layer,
  Contacts.layer,
  PersonalData.layer
)

const posting = Layer.mergeAll(WebhookDispatch.layer, WebhookReplays.layer).pipe(Layer.provide(WebhookPosts.layer))

/**
 * Layer that provides every service of the CRM, given storage, a messaging provider and a transport for webhooks.
 *
 * This is all of core's wiring. A program that embeds core provides an adapter's
 * layer to it and runs operations; the server does the same behind HTTP.
 */
export const layer: Layer.Layer<Services, never, StoragePorts | MessagingProvider | WebhookTransport> = Layer
  .mergeAll(
    ApiKeys.layer,
    CallbackInbox.layer,
    Inbound.layer,
    Worker.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(ContactImports.layer, Dispatch.layer, posting)),
    Layer.provideMerge(Layer.mergeAll(ContactUpserts.layer, Sends.layer)),
    Layer.provideMerge(contactsAndConversations),
    Layer.provideMerge(Layer.mergeAll(Idempotency.layer, IdempotentParts.layer, Media.layer)),
    Layer.provideMerge(independent),
    Layer.provide(foundation)
  )
