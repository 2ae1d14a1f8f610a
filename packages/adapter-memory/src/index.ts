import type { StoragePorts } from "@messaging-crm/core/Crm"
import { Layer } from "effect"
import * as ApiKeys from "./accounts/ApiKeys.ts"
import * as Organizations from "./accounts/Organizations.ts"
import * as ChannelAccounts from "./catalog/ChannelAccounts.ts"
import * as ChannelHolds from "./catalog/ChannelHolds.ts"
import * as Contacts from "./contacts/Contacts.ts"
import * as Conversations from "./conversations/Conversations.ts"
import * as WebhookDeliveries from "./deliveries/WebhookDeliveries.ts"
import * as Events from "./events/Events.ts"
import * as CallbackInbox from "./inbound/CallbackInbox.ts"
import * as Media from "./messages/Media.ts"
import * as MessageRetention from "./messages/MessageRetention.ts"
import * as Messages from "./messages/Messages.ts"
import * as PersonalData from "./privacy/PersonalData.ts"
import * as Sends from "./sends/Sends.ts"
import * as Webhooks from "./webhooks/Webhooks.ts"
import * as Audit from "./work/Audit.ts"
import * as Commit from "./work/Commit.ts"
import * as Idempotency from "./work/Idempotency.ts"
import * as Rows from "./work/Rows.ts"
import * as SecretCanary from "./work/SecretCanary.ts"
import * as StorageUse from "./work/StorageUse.ts"
import * as WorkQueue from "./work/WorkQueue.ts"
import { World } from "./world/World.ts"

/** Layer for every storage port, in a given world. */
export const stores: Layer.Layer<StoragePorts, never, World> = Layer.mergeAll(
  ApiKeys.layer,
  Audit.layer,
  CallbackInbox.layer,
  ChannelAccounts.layer,
  ChannelHolds.layer,
  Commit.layer,
  Contacts.layer,
  Conversations.layer,
  Events.layer,
  Idempotency.layer,
  Media.layer,
  MessageRetention.layer,
  Messages.layer,
  Organizations.layer,
  PersonalData.layer,
  Rows.layer,
  SecretCanary.layer,
  Sends.layer,
  StorageUse.layer,
  WebhookDeliveries.layer,
  Webhooks.layer,
  WorkQueue.layer
)

/**
 * Layer for every storage port, in memory. Each build has a new world.
 *
 * It has no foreign keys and no `CHECK` constraints, so it accepts changes that PostgreSQL rejects.
 */
export const layer: Layer.Layer<StoragePorts | World> = Layer.provideMerge(stores, World.layer)
