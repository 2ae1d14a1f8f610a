import { Layer } from "effect"
import { ApiKeys, type ApiKeyStore } from "./ApiKeys.ts"
import { Channels, type ChannelStore } from "./Channels.ts"
import type { Commit } from "./Commit.ts"
import { ContactFields, type ContactFieldStore } from "./ContactFields.ts"
import { ContactImports } from "./ContactImports.ts"
import { Contacts, type ContactStore } from "./Contacts.ts"
import { Conversations, type ConversationStore } from "./Conversations.ts"
import { Decide } from "./Decide.ts"
import { Dispatch } from "./Dispatch.ts"
import type { EventStore } from "./Events.ts"
import { Idempotency, type IdempotencyStore } from "./Idempotency.ts"
import { Ids } from "./Ids.ts"
import { Inbound } from "./Inbound.ts"
import { Media, type MediaStore } from "./Media.ts"
import { Members, type MemberStore } from "./Members.ts"
import { Messages, type MessageStore } from "./Messages.ts"
import type { MessagingProvider } from "./MessagingProvider.ts"
import { Organizations, type OrganizationStore } from "./Organizations.ts"
import { Cursors } from "./Page.ts"
import { Secrets } from "./Secrets.ts"
import { Sends, type SendStore } from "./Sends.ts"
import { Tags, type TagStore } from "./Tags.ts"
import { Templates } from "./Templates.ts"
import { WebhookDeliveries, type WebhookDeliveryStore } from "./WebhookDeliveries.ts"
import { Webhooks, type WebhookStore } from "./Webhooks.ts"
import type { WebhookTransport } from "./WebhookTransport.ts"
import { Worker } from "./Worker.ts"
import { type WorkQueue, WorkSignal } from "./WorkQueue.ts"

/** Everything a storage adapter must provide. Adding a port here breaks every adapter's build until it follows. */
export type StoragePorts =
  | ApiKeyStore
  | ChannelStore
  | Commit
  | ContactFieldStore
  | ContactStore
  | ConversationStore
  | EventStore
  | IdempotencyStore
  | MediaStore
  | MemberStore
  | MessageStore
  | OrganizationStore
  | SendStore
  | TagStore
  | WebhookDeliveryStore
  | WebhookStore
  | WorkQueue

/** Every operation of the CRM. */
export type Operations =
  | ApiKeys
  | Channels
  | ContactFields
  | ContactImports
  | Contacts
  | Conversations
  | Idempotency
  | Inbound
  | Media
  | Members
  | Messages
  | Organizations
  | Sends
  | Tags
  | Templates
  | WebhookDeliveries
  | Webhooks
  | Worker

/** What other operations are made of, innermost first. */
const foundation = Layer.mergeAll(Cursors.layer, Decide.layer).pipe(
  Layer.provideMerge(WorkSignal.layer),
  Layer.provideMerge(Layer.mergeAll(Ids.layer, Secrets.layer))
)

const catalogues = Layer.mergeAll(
  Channels.layer,
  ContactFields.layer,
  Members.layer,
  Organizations.layer,
  Tags.layer,
  Templates.layer,
  Webhooks.layer
)

const threads = Layer.mergeAll(Conversations.layer, Messages.layer, Contacts.layer, ContactImports.layer)

/**
 * Layer that provides every operation of the CRM, given storage, a provider and a way out for webhooks.
 *
 * This is the whole of core's wiring. An embedder provides it with an adapter's
 * layer and runs operations; the server does the same behind HTTP.
 */
export const layer: Layer.Layer<Operations, never, StoragePorts | MessagingProvider | WebhookTransport> = Layer
  .mergeAll(
    ApiKeys.layer,
    Inbound.layer,
    Worker.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(Dispatch.layer, Idempotency.layer, WebhookDeliveries.layer)),
    Layer.provideMerge(Sends.layer),
    Layer.provideMerge(threads),
    Layer.provideMerge(Media.layer),
    Layer.provideMerge(catalogues),
    Layer.provide(foundation)
  )
